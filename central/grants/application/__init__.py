"""Use cases of grants, one a file, with their ports."""
