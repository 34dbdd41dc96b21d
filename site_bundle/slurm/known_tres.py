"""`sacctmgr show tres`: the TRES Slurm counts at all (W37)."""

from __future__ import annotations

from dataclasses import dataclass

from site_bundle.slurm.command import MACHINE_READABLE, lines_of
from site_bundle.slurm.errors import UnreadableOutputError


@dataclass(frozen=True, slots=True)
class ShowTres:
    """Names as TRES strings write them: `cpu`, `gres/gpu:gh200`."""

    def argv(self) -> list[str]:
        return ["sacctmgr", *MACHINE_READABLE, "show", "tres", "format=Type,Name"]

    def parse(self, output: str) -> frozenset[str]:
        """UnreadableOutputError unless at least `cpu` is there: Slurm always has it."""
        found: set[str] = set()
        for line in lines_of(output):
            kind, bar, name = line.partition("|")
            if not kind or not bar or "|" in name:
                raise UnreadableOutputError("a row that is not type and name")
            found.add(f"{kind}/{name}" if name else kind)
        if "cpu" not in found:
            raise UnreadableOutputError("a list of TRES without cpu")
        return frozenset(found)
