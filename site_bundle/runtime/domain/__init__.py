"""Pure rules of one command: no I/O, no clock, no randomness."""
