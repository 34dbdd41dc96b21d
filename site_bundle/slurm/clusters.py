"""`sacctmgr show cluster` and `show user … withcoord`: what `doctor` asks about this identity (I7, W30)."""

from __future__ import annotations

from dataclasses import dataclass

from site_bundle.slurm.command import MACHINE_READABLE, lines_of
from site_bundle.slurm.errors import UnreadableOutputError


@dataclass(frozen=True, slots=True)
class ShowClusters:
    """The clusters accounting knows."""

    def argv(self) -> list[str]:
        return ["sacctmgr", *MACHINE_READABLE, "show", "cluster", "format=Cluster"]

    def parse(self, output: str) -> frozenset[str]:
        return frozenset(line.removesuffix("|") for line in lines_of(output))


@dataclass(frozen=True, slots=True)
class Rights:
    """What accounting lets a user do. `admin_level` is `None`, `Operator` or `Administrator`."""

    admin_level: str
    coordinates: frozenset[str]


@dataclass(frozen=True, slots=True)
class ShowRights:
    """The rights of one user; None when accounting does not know the user."""

    user: str

    def argv(self) -> list[str]:
        wanted = "format=User,AdminLevel,Coordinators"
        return ["sacctmgr", *MACHINE_READABLE, "show", "user", f"name={self.user}", "withcoord", wanted]

    def parse(self, output: str) -> Rights | None:
        rows = lines_of(output)
        if not rows:
            return None
        parts = rows[0].split("|")
        if len(rows) != 1 or len(parts) != 3 or parts[0] != self.user:
            raise UnreadableOutputError("a row that is not user, level and accounts")
        return Rights(parts[1], frozenset(filter(None, parts[2].split(","))))
