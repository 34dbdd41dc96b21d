"""Builds our own wheel in the clean tree: the same bytes for the same revision and version (B16)."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from release.errors import ReleaseError
from release.source import EPOCH_VARIABLE, Source

_HATCH: Final = "hatch.toml"  # where it names a table, hatchling prefers it to pyproject's


def build_own_wheel(source: Source, version: str, packages: Sequence[str], destination: Path) -> Path:
    """A wheel of the top ``packages`` alone, of which a checkout's own wheel holds more.

    Writes ``release/VERSION`` and ``hatch.toml`` in the clean tree. Raises ReleaseError
    ``wheel_build_failed``.
    """
    (source.folder / "release" / "VERSION").write_text(f"{version}\n", encoding="ascii")
    (source.folder / _HATCH).write_text(
        f"[build.targets.wheel]\npackages = {json.dumps(list(packages))}\n", encoding="ascii"
    )
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TZ": "UTC",
        EPOCH_VARIABLE: str(source.epoch),
    }
    outcome = subprocess.run(
        [sys.executable, "-I", "-m", "hatchling", "build", "-t", "wheel", "-d", os.fspath(destination)],
        cwd=source.folder,
        env=environment,
        umask=0o022,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    built = sorted(destination.glob("*.whl"))
    if outcome.returncode != 0 or len(built) != 1:
        raise ReleaseError(
            "wheel_build_failed",
            found=(outcome.stdout + outcome.stderr).strip()[-1500:],
            wanted="one wheel",
            remedy="Read hatchling's words; the development environment needs hatchling.",
        )
    return built[0]
