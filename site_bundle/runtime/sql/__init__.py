"""The journal's statements, as data."""
