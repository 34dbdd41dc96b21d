"""The clean tree a release is built from: exactly the files of one revision, whatever lies around in the
working tree.

``dirty=True`` takes the working tree's files instead (tracked and not ignored); the manifest then says so
and a production profile refuses the release.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from release.errors import ReleaseError

EPOCH_VARIABLE: Final = "SOURCE_DATE_EPOCH"
_FIRST_EPOCH: Final = 315_532_800  # 1980-01-01, the oldest time a zip file (a wheel) can carry
_LAST_EPOCH: Final = 4_102_444_800  # 2100-01-01: anything later is milliseconds


@dataclass(frozen=True, slots=True)
class Source:
    """A clean tree: its folder, the 40-digit revision, that commit's time in seconds, whether it has other
    changes.
    """

    folder: Path
    revision: str
    epoch: int
    dirty: bool

    @property
    def built_at(self) -> str:
        """The commit's time as the manifest writes it."""
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_epoch(text: str | None) -> None:
    """Refuse a SOURCE_DATE_EPOCH of the caller that cannot be one (B17); None means it is unset."""
    if text is None:
        return
    value = int(text) if text.isascii() and text.isdigit() else -1
    if not _FIRST_EPOCH <= value <= _LAST_EPOCH:
        raise ReleaseError(
            "epoch_malformed",
            found=f"{EPOCH_VARIABLE}={text!a}",
            wanted=f"seconds since 1970, {_FIRST_EPOCH} to {_LAST_EPOCH}; the commit's own time is used",
            remedy=f"Unset {EPOCH_VARIABLE}.",
        )


def uncommitted(repository: Path) -> int:
    """How many paths of the working tree are not as committed."""
    return len(_git(repository, "status", "--porcelain", "-z").split(b"\0")) - 1


def check_out(repository: Path, folder: Path, *, dirty: bool = False) -> Source:
    """Fill the new folder ``folder`` with HEAD's files (or the working tree's). Raises ReleaseError
    ``source_unavailable``.
    """
    revision = _git(repository, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    epoch = int(_git(repository, "show", "-s", "--format=%ct", revision))
    check_epoch(str(epoch))
    folder.mkdir(parents=True)
    if dirty:
        _copy_working_tree(repository, folder)
    else:
        packed = _git(repository, "-c", "tar.umask=0022", "archive", "--format=tar", revision)
        # tar(1), as tarfile's filters are younger than Debian 12's Python; the bytes are git's own.
        subprocess.run(["tar", "-x", "--no-same-owner", "-C", folder], input=packed, check=True)
    for entry in folder.rglob("*"):
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() or entry.stat().st_mode & 0o100 else 0o644)
    return Source(folder, revision, epoch, dirty)


def _copy_working_tree(repository: Path, folder: Path) -> None:
    names = _git(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in sorted(set(filter(None, names.decode().split("\0")))):
        origin = repository / name
        if origin.is_file() and not origin.is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, folder / name)


def _git(repository: Path, *arguments: str) -> bytes:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": os.environ.get("HOME", "/"),
    }
    command = ["git", "-c", f"safe.directory={repository}", "-C", os.fspath(repository), *arguments]
    outcome = subprocess.run(command, capture_output=True, env=environment, check=False)
    if outcome.returncode != 0:
        raise ReleaseError(
            "source_unavailable",
            found=outcome.stderr.decode(errors="replace").strip(),
            wanted=f"a git checkout at {repository} with a commit",
            remedy="Run it in a clone of the product's repository.",
        )
    return outcome.stdout
