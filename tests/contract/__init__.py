"""The wire as data: golden files, their loader, and the tests that keep both honest (X10)."""
