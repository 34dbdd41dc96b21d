"""Pure values and rules of evidence."""
