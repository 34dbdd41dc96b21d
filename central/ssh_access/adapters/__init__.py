"""Ports of member keys made real."""
