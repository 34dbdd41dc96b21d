"""Ports of evidence made real."""
