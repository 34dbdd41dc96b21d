"""One use case a file, its ports beside them."""
