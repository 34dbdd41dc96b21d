"""The ports made real."""
