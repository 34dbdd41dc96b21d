"""Compiles the modules of a folder with checked hashes (PEP 552), so no time stamp decides what is stale.

Two interpreters share the files, half of the bytes each. Which file goes where depends on names and sizes
alone: bytecode may differ with what an interpreter compiled before, and a release must compile alike
everywhere.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from installer.bootstrap.children import Command

_AT_ONCE: Final = 2


def compile_commands(python: Path, folder: Path, lists: Path, *, strip: Path | None = None) -> list[Command]:
    """The commands, to be run at the same time, that compile every module below ``folder``.

    ``lists`` is a path for the lists of files, suffixes are added. ``strip`` is left out of the file names
    that bytecode keeps for tracebacks.
    """
    options = ["-q", "--invalidation-mode", "checked-hash"]
    options += ["-s", str(strip)] if strip is not None else []
    commands: list[Command] = []
    for number, share in enumerate(_shares(folder.rglob("*.py"))):
        listed = lists.with_name(f"{lists.name}-{number}")
        listed.write_text("".join(f"{path}\n" for path in share), encoding="utf-8")
        commands.append([python, "-I", "-m", "compileall", *options, "-i", listed])
    return commands


def _shares(paths: Iterable[Path]) -> list[list[Path]]:
    """The files in shares of about equal size, the largest dealt first."""
    sized = sorted(((-path.stat().st_size, path) for path in paths), key=lambda pair: (pair[0], str(pair[1])))
    shares: list[list[Path]] = [[] for _ in range(_AT_ONCE)]
    weights = [0] * _AT_ONCE
    for size, path in sized:
        lightest = weights.index(min(weights))
        shares[lightest].append(path)
        weights[lightest] -= size
    return [share for share in shares if share]
