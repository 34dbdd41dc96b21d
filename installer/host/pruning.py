"""Keeps a folder of the installer's own records bounded: the oldest go first, the newest always stays (B37).

Only regular files of the installer's own kind are counted and removed; anything else there is left alone. A
folder that cannot be read or pruned changes no result: the next run tries again.
"""

import contextlib
import os
import stat
from pathlib import Path

_SUFFIX = ".jsonl"


def prune(folder: Path, *, files: int, size: int) -> list[str]:
    """Remove the oldest records until at most ``files`` of at most ``size`` bytes in all are left; the names
    removed. Age is the last write's.
    """
    removed: list[str] = []
    with contextlib.suppress(OSError):
        records = sorted(_records(folder), reverse=True)
        total = 0
        for number, (_, name, length) in enumerate(records):
            total += length
            if number > 0 and (number >= files or total > size):
                (folder / name).unlink()
                removed.append(name)
    return removed


def _records(folder: Path) -> list[tuple[int, str, int]]:
    found = []
    for entry in os.scandir(folder):
        facts = entry.stat(follow_symlinks=False)
        if entry.name.endswith(_SUFFIX) and stat.S_ISREG(facts.st_mode):
            found.append((facts.st_mtime_ns, entry.name, facts.st_size))
    return found
