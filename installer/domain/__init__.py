"""Pure values and rules of the installer: no I/O, clock, random, logging or processes."""
