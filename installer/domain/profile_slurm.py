"""The cluster as a profile names it, for every component that asks Slurm."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Slurm:
    """The cluster, the account below which allocations stand, what one node gives (X3).

    ``capacity`` is None while no component reports it.
    """

    cluster: str
    parent_account: str
    capacity: Mapping[str, int] | None = None
    commands: str = "/usr/bin"
