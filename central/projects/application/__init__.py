"""Use cases of the view, one a file, with their ports."""
