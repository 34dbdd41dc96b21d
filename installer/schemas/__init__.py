"""JSON Schemas of the hand-off's files, and the documentation made from them; see ``__main__``."""
