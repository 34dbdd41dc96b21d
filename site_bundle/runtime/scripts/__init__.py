"""What runs as the member: POSIX sh with names in `@NAME@` that `domain/script.py` fills in, as data."""
