"""Ports of the view made real."""
