"""Use cases set in motion: the agent's loop and the commands."""
