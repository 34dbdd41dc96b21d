"""Benchmarks: ratios against a limit measured in the same run (never a timed assertion in a test)."""
