"""Programs, for every test of this folder."""

from tests.postgres.processes.rig import programs

__all__ = ["programs"]
