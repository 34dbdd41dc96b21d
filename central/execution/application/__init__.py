"""One use case a file; what they need of others stands in `ports`."""
