"""Pure values and rules of grants."""
