"""The wheels of the locks, from a cache by hash or from the configured index; each verified before it is
used.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from installer.domain.requirements import Requirement, format_requirements
from release.components import ReleasePlan
from release.errors import ReleaseError
from release.locking import pip_target, run_pip


def default_cache() -> Path:
    """Where fetched wheels are kept: the user's cache folder (XDG Base Directory)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pharos-hpc" / "wheels"


def fetch(requirements: Iterable[Requirement], plan: ReleasePlan, cache: Path) -> list[Path]:
    """One wheel file a requirement, in the requirements' order. Raises ReleaseError ``download_failed``."""
    wanted = list(requirements)
    missing = [requirement for requirement in wanted if _cached(cache, requirement) is None]
    if missing:
        _download(missing, plan, cache)
    return [_require(cache, requirement) for requirement in wanted]


def _cached(cache: Path, requirement: Requirement) -> Path | None:
    """The cached wheel, if its bytes still have the locked hash."""
    for path in sorted((cache / requirement.sha256).glob("*.whl")):
        if hashlib.sha256(path.read_bytes()).hexdigest() == requirement.sha256:
            return path
    return None


def _download(missing: list[Requirement], plan: ReleasePlan, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as folder:
        names = Path(folder, "requirements.txt")
        names.write_text(format_requirements(missing), encoding="ascii")
        options = ["--require-hashes", "--no-deps", f"--dest={folder}", f"--requirement={names}"]
        run_pip("download", *options, *pip_target(plan), code="download_failed")
        for path in sorted(Path(folder).glob("*.whl")):
            home = cache / hashlib.sha256(path.read_bytes()).hexdigest()
            home.mkdir(exist_ok=True)
            shutil.move(path, home / path.name)


def _require(cache: Path, requirement: Requirement) -> Path:
    path = _cached(cache, requirement)
    if path is None:
        raise ReleaseError(
            "download_failed",
            found=f"no wheel of {requirement.name} {requirement.version} with the locked hash",
            wanted=f"sha256:{requirement.sha256}",
            remedy="Lock again if the release was replaced upstream: python -m release lock.",
        )
    return path
