"""Rows whose fields may hold anything others chose, job names above all.

Each field ends with a fence nobody else can know: drawn for the process, asked for in the command line. So no
name or comment can end its field, begin a row or stand for another job's row, whatever line ends and bars it
holds (A02).
"""

from __future__ import annotations

import re

from site_bundle.slurm.errors import UnreadableOutputError

_FENCE = re.compile(r"@[a-z]{16,32}@", re.ASCII)


def checked_fence(fence: str) -> str:
    """ValueError for a fence that Slurm's format strings would take for something else."""
    if not _FENCE.fullmatch(fence):
        raise ValueError("a fence is @ and 16…32 small letters and @")
    return fence


def fenced_rows(output: str, fence: str, fields: int) -> list[tuple[str, ...]]:
    """The rows of `fields` fields each. UnreadableOutputError when the output is cut."""
    parts = output.split(fence)
    rest = parts.pop()
    if rest.strip("\n") or len(parts) % fields:
        raise UnreadableOutputError("rows that are cut, or of other fields")
    rows = []
    for begin in range(0, len(parts), fields):
        row = parts[begin : begin + fields]
        if begin:
            if not row[0].startswith("\n"):
                raise UnreadableOutputError("a row that does not begin on a line of its own")
            row[0] = row[0][1:]
        rows.append(tuple(row))
    return rows
