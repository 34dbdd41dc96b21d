"""The stand-ins keep their own rules."""
