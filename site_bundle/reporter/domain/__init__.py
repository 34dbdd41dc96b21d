"""What is decided: no clock, no input, no output."""
