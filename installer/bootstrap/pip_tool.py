"""pip as a tool: its own wheel out of the verified archive, unpacked and compiled, never part of what it
builds (I5).

A controller keeps the unpacked pip as ``tools/pip`` inside its seal, and the installer that runs from this
controller builds the components of the same release with it; anybody else unpacks one for the occasion.
Unpacked without its metadata, pip is not among the distributions that ``pip check`` looks at.
"""

import io
import json
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import WHEELS, VerifiedArchive
from installer.bootstrap.bytecode import WORKER
from installer.bootstrap.children import Command
from installer.domain.requirements import RequirementsError, parse_wheel_name

RELEASE_FILE: Final = "pharos-release"
TOOLS: Final = "tools"
NAME: Final = "pip"
INSTALLED: Final = "pharos: installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipRun:
    """One run of pip out of ``tools``: ``keep`` leaves bytecode there, ``origin`` is all it may ask."""

    tools: Path
    words: Sequence[str | Path]
    keep: bool = False
    origin: str = ""


def pip_command(python: Path, job: Path, run: PipRun) -> Command:
    """pip, working on the environment of ``python``, and ``pip check`` after it; writes ``job``.

    The line ``INSTALLED`` on stdout stands between the two.
    """
    content = {
        "tools": str(run.tools),
        "words": [str(word) for word in run.words],
        "mark": INSTALLED,
        "keep": run.keep,
        "origin": run.origin,
    }
    job.write_text(json.dumps(content), encoding="ascii")
    return [python, "-I", "-B", WORKER, "pip", job]


def same_interpreter(interpreter: Path) -> bool:
    """Whether ``interpreter`` is the one this process's environment was made with."""
    return interpreter.resolve() == (Path(sys.prefix) / "bin" / "python").resolve()


def kept_tools(archive: VerifiedArchive) -> Path | None:
    """The tools of the controller this process runs from, when it is the controller of ``archive``."""
    prefix = Path(sys.prefix)
    try:
        ours = (prefix / RELEASE_FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    kept = prefix / TOOLS
    return kept if ours == f"{archive.release_id}\n" and (kept / NAME).is_dir() else None


def pip_wheel(archive: VerifiedArchive) -> str:
    """The path of pip's wheel in the archive. Raises RequirementsError unless there is exactly one."""
    found = [
        path for path in archive.paths(WHEELS) if parse_wheel_name(path.removeprefix(WHEELS)).name == NAME
    ]
    if len(found) != 1:
        raise RequirementsError(f"{len(found)} wheels of pip")
    return found[0]


def unpack_pip(archive: VerifiedArchive, tools: Path) -> None:
    """Write pip's modules below the new folder ``tools``, whatever the umask. Raises OSError,
    RequirementsError.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive.read(pip_wheel(archive)))) as wheel:
            names = [name for name in wheel.namelist() if name.startswith(f"{NAME}/") and name[-1] != "/"]
            _make_folders(tools, names)
            for name in names:
                path = tools / name
                path.write_bytes(wheel.read(name))
                path.chmod(0o644)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        raise RequirementsError(f"pip's wheel cannot be unpacked: {error}") from error


def _make_folders(tools: Path, names: Iterable[str]) -> None:
    folders = {parent for name in names for parent in Path(name).parents}
    if any(".." in folder.parts or folder.is_absolute() for folder in folders):
        raise RequirementsError("pip's wheel has a name that leaves its folder")
    for folder in sorted(folders, key=lambda folder: len(folder.parts)):
        (tools / folder).mkdir()
        (tools / folder).chmod(0o755)
