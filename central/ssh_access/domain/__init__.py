"""Pure values and rules of member keys."""
