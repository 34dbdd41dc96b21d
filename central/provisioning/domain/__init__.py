"""Allocations as values: pure, no I/O, no clock."""
