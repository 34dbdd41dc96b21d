"""Rules about the repository itself; each has a test that shows it failing on a planted violation."""
