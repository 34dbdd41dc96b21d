"""Slurm's commands over a small world in a file, as 24.11.5 answers them. A DEVELOPMENT STAND-IN."""
