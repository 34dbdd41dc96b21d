"""`scontrol show node`: what each node is configured to give (S8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from site_bundle.slurm.command import lines_of
from site_bundle.slurm.errors import UnreadableOutputError

_NODE = re.compile(r"NodeName=(\S+) .*?\bCfgTRES=(\S*)(?: |$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Node:
    """`cfg_tres` as Slurm wrote it."""

    name: str
    cfg_tres: str


@dataclass(frozen=True, slots=True)
class ShowNodes:
    """Every node of the controller this host belongs to, hidden partitions' nodes included."""

    def argv(self) -> list[str]:
        return ["scontrol", "--all", "--oneliner", "show", "node"]

    def parse(self, output: str) -> tuple[Node, ...]:
        """UnreadableOutputError for no node at all: a cluster has some (A50)."""
        found = tuple(_node(line) for line in lines_of(output))
        if not found:
            raise UnreadableOutputError("no node at all")
        return found


def _node(line: str) -> Node:
    match = _NODE.match(line)
    if match is None:
        raise UnreadableOutputError("a node without NodeName= and CfgTRES=")
    return Node(match[1], match[2])
