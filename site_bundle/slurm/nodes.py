"""`scontrol show node`: what each node is configured to give (S8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from site_bundle.slurm.errors import UnreadableOutputError

_NODE = re.compile(r"NodeName=(\S+) .*?\bCfgTRES=(\S*)(?:\s|$)", re.DOTALL)
# A node's Comment and Extra keep the line ends they were given, --oneliner or not (24.11.5).
_BEGINS = re.compile(r"^(?=NodeName=)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Node:
    """`cfg_tres` as Slurm wrote it."""

    name: str
    cfg_tres: str


@dataclass(frozen=True, slots=True)
class ShowNodes:
    """Every node of this host's own cluster (W36), hidden partitions' nodes included."""

    def argv(self) -> list[str]:
        return ["scontrol", "--local", "--all", "--oneliner", "show", "node"]

    def parse(self, output: str) -> tuple[Node, ...]:
        """UnreadableOutputError for no node at all (A50: a cluster has some) or one that stands twice."""
        head, *records = _BEGINS.split(output)
        if head.strip() or not records:
            raise UnreadableOutputError("no node at all")
        found = tuple(map(_node, records))
        if len({node.name for node in found}) != len(found):
            raise UnreadableOutputError("one node stands twice")
        return found


def _node(record: str) -> Node:
    match = _NODE.match(record)
    if match is None:
        raise UnreadableOutputError("a node without NodeName= and CfgTRES=")
    return Node(match[1], match[2])
