"""TRES strings (`cpu=2,mem=1500M,node=1,gres/gpu:gh200=1`) as exact counts (X3, D16, W14, A22, A24).

`mem` is bytes; a number without a suffix is mebibytes (sacctmgr(1), GrpTRES). A fraction is a number Slurm
has rounded for people, so it is refused. TRES nobody here counts (billing, energy, fs/disk, gpumem) are left
out unread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from site_bundle.slurm.errors import UnreadableOutputError

CPU, MEMORY, NODE, GPU = "cpu", "mem", "node", "gres/gpu"
_ITEM = re.compile(r"([A-Za-z][A-Za-z0-9_/:.-]*)=(.*)", re.DOTALL)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MEMORY = re.compile(r"(0|[1-9][0-9]{0,18})([KMGTPE]?)", re.ASCII)
_SHIFT = {"K": 10, "": 20, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
REMEMBERED = 4096


@lru_cache(maxsize=REMEMBERED)
def parse_tres(text: str) -> Mapping[str, int]:
    """Counts by TRES name of a string; empty for an empty one. UnreadableOutputError."""
    found: dict[str, int] = {}
    for item in text.split(",") if text else ():
        match = _ITEM.fullmatch(item)
        if match is None or match[1] in found:
            raise UnreadableOutputError("a TRES string that is not name=count,…")
        if not match[2]:
            raise UnreadableOutputError(f"a cut TRES string: {match[1]} has no count")
        if match[1] == MEMORY:
            found[MEMORY] = _memory(match[2])
        elif match[1] in {CPU, NODE, GPU} or match[1].startswith(f"{GPU}:"):
            found[match[1]] = _whole(match[1], match[2])
    return MappingProxyType(found)


def _whole(name: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise UnreadableOutputError(f"{name} that is no whole number")
    return int(text)


def _memory(text: str) -> int:
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise UnreadableOutputError("mem that is no whole number of bytes")
    return int(match[1]) << _SHIFT[match[2]]
