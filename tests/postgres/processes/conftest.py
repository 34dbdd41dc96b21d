"""Programs, and the world around them, for every test of this folder."""

from tests.postgres.processes.rig import programs
from tests.postgres.processes.world import world

__all__ = ["programs", "world"]
