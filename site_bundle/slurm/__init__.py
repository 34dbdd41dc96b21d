"""Slurm's own commands, one class each: an argument list and a pure parser; `client` alone runs processes."""
