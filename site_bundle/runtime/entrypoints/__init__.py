"""The loop and what it says."""
