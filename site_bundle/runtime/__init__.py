"""The Slurm runtime: central's commands become members' jobs, each exactly once, and their ends central's
results (S1–S6).
"""
