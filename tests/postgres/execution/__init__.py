"""Runs on a real PostgreSQL."""
