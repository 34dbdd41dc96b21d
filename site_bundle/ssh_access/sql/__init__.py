"""The journal's statements and migrations."""
