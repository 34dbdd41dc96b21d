"""Runs, as pure values."""
