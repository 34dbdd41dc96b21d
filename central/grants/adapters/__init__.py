"""Ports of grants made real."""
