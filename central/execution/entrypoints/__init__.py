"""Wire to use case and back; no rule lives here."""
