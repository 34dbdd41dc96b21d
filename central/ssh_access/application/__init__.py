"""Use cases of member keys, one a file, with their ports."""
