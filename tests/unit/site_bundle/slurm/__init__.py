"""Slurm's commands: argument lists and parsers over output recorded on the lab host."""
