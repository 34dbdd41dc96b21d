"""A strict stand-in for central's Site API, ssh-access half (docs/wire.md). INSECURE BY DESIGN: for tests
alone.
"""
