"""Use cases of evidence."""
