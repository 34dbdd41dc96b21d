"""Virtual environments that tests need beside their own: pinned, hashed, built once below `build/`."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).parents[1] / "build" / "environments"
PIP_WITHIN = 600.0


class EnvironmentUnbuildable(Exception):
    """pip could not provide what a list pins; the message holds what it said."""


def environment(name: str, requirements: Path, interpreter: str = sys.executable) -> Path:
    """The Python of an environment that holds exactly `requirements`, which must carry hashes.

    Built at the first call, found again while list and interpreter stay the same. Raises
    `EnvironmentUnbuildable`, naming the package index as the likely cause: a test that needs it fails.
    """
    asked = subprocess.run([interpreter, "-VV"], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256(requirements.read_bytes() + asked.encode()).hexdigest()[:12]
    folder = CACHE / f"{name}-{digest}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder, requirements, interpreter)
            (folder / "complete").touch()
    return folder / "bin" / "python"


def _build(folder: Path, requirements: Path, interpreter: str) -> None:
    _said([interpreter, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _said([*pip, "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(requirements)])


def _said(argv: list[str]) -> None:
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PIP_WITHIN, check=False
    )
    if done.returncode != 0:
        raise EnvironmentUnbuildable(
            f"{' '.join(argv[1:4])} ended with {done.returncode}; is the package index reachable from here?\n"
            f"{done.stderr.strip()[-2000:]}"
        )
