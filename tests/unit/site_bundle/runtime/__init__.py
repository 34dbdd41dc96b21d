"""The Slurm runtime, without a host."""
