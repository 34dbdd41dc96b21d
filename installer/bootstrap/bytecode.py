"""Compiles the modules of a folder with checked hashes (PEP 552), so no time stamp decides what is stale.

Two interpreters share the files, half of the bytes each. Which file goes where depends on names and sizes
alone: bytecode may differ with what an interpreter compiled before, and a release must compile alike
everywhere. Modules of wheels are compiled from a stage while pip installs them, and adopted afterwards.
"""

import contextlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from installer.bootstrap.children import Command

_AT_ONCE: Final = 2


def compile_commands(
    python: Path,
    paths: Iterable[Path],
    lists: Path,
    *,
    strip: Path | None = None,
    prepend: Path | None = None,
) -> list[Command]:
    """The commands, to be run at the same time, that compile the modules ``paths``; none for no module.

    ``lists`` is a path for the lists of files, suffixes are added. In the file names that bytecode keeps for
    tracebacks, ``strip`` is left out and ``prepend`` put before.
    """
    options: list[str | Path] = ["-q", "--invalidation-mode", "checked-hash"]
    options += ["-s", strip] if strip is not None else []
    options += ["-p", prepend] if prepend is not None else []
    commands: list[Command] = []
    for number, share in enumerate(_shares(paths)):
        listed = lists.with_name(f"{lists.name}-{number}")
        listed.write_text("".join(f"{path}\n" for path in share), encoding="utf-8")
        commands.append([python, "-I", "-m", "compileall", *options, "-i", listed])
    return commands


def stage_modules(wheel: bytes, stage: Path) -> None:
    """Write the modules that ``wheel`` puts into an environment below ``stage``. What is no wheel, or has
    names that leave the folder, is left to pip, which refuses it.
    """
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(wheel)) as content:
        for name in content.namelist():
            parts = Path(name).parts
            if name.endswith(".py") and not {"..", "/"}.intersection(parts) and ".data" not in parts[0]:
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).write_bytes(content.read(name))
                (stage / name).chmod(0o644)


def adopt_bytecode(stage: Path, packages: Path) -> set[Path]:
    """Move the bytecode of ``stage`` beside the same sources in ``packages``; the sources that have it now.

    A source that is not there, or not byte for byte the staged one, gets nothing.
    """
    adopted: set[Path] = set()
    for compiled in sorted(stage.rglob("*.pyc")):
        staged = compiled.parent.parent / f"{compiled.name.rsplit('.', 2)[0]}.py"
        source = packages / staged.relative_to(stage)
        if not source.is_file() or source.read_bytes() != staged.read_bytes():
            continue
        folder = source.parent / compiled.parent.name
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)
        compiled.replace(folder / compiled.name)
        adopted.add(source)
    return adopted


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
