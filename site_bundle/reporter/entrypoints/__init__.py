"""Use cases set in motion: the loop and what it says of itself."""
