"""Runs: accepted work of members, one command a native action, and what became of each (E1–E7)."""
