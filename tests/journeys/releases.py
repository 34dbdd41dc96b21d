"""Releases of this very checkout, built and signed as ``make release`` does it (I2)."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.journeys.administrator import Archive
from tests.lab.processes import run

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Release:
    """An archive with what its maker says of it."""

    archive: Archive
    release_id: str
    sha256: str
    allowed_signers: bytes


def has_changes(repository: Path) -> bool:
    """Whether the checkout differs from its last commit."""
    return bool(run(["git", "-C", str(repository), "status", "--porcelain"]).stdout)


def copy_of_checkout(folder: Path) -> Path:
    """Another checkout with the same files, to plant a fault in; ignored files stay away."""
    listed = run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    ).stdout
    run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(folder)])
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def build(version: str, dist: Path, repository: Path = ROOT) -> Release:
    """Build one with the development keys; a changed checkout is taken as it is, and its manifest says so."""
    argv = [sys.executable, "-m", "release", "build", "--version", version, "--dist", str(dist), "--json"]
    argv += ["--repository", str(repository)]
    argv += ["--allow-dirty"] if has_changes(repository) else []
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return Release(
        archive=Archive(Path(said["archive"]), version),
        release_id=said["release_id"],
        sha256=said["sha256"],
        allowed_signers=(dist / "allowed_signers.development").read_bytes(),
    )
