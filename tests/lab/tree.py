"""The host tree: built once from seed and script, kept in the user's cache.

Its folder carries the digest of what it is built from, so a changed seed is another tree. It is
built beside its place under a lock and renamed when it is whole: a tree that exists is complete.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab import cgroup, container, disk
from tests.lab.erase import erase
from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.network import network_up
from tests.lab.prerequisites import require
from tests.lab.processes import myself, run
from tests.lab.registry import HostRecord, Registry

HERE = Path(__file__).parent
SCRIPT = HERE / "build-tree.sh"
SEED = HERE / "seed"


@dataclass(frozen=True, slots=True)
class HostTree:
    """A complete tree: ``root`` to boot from, ``keys`` with which tests play the site's other side."""

    folder: Path

    @property
    def root(self) -> Path:
        """The root file system."""
        return self.folder / "tree"

    @property
    def keys(self) -> Path:
        """``oidc.pem`` and ``jwt_hs256.key``, readable by their owner alone."""
        return self.folder / "keys"


def cache_folder() -> Path:
    """Where trees are kept (XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "pharos-lab"


def recipe_digest(script: Path = SCRIPT, seed: Path = SEED) -> str:
    """SHA-256 over everything the tree is built from, names and modes included."""
    digest = hashlib.sha256()
    for path in (script, *sorted(seed.iterdir())):
        executable = bool(path.stat().st_mode & 0o100)
        digest.update(f"{path.name} {executable} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def ensure_tree(say: Callable[[str], None] = lambda line: None, *, rebuild: bool = False) -> HostTree:
    """The tree of this seed, built now if it is not there; whoever comes meanwhile waits."""
    tree = HostTree(cache_folder() / recipe_digest()[:12])
    if tree.root.is_dir() and not rebuild:
        return tree
    require()
    with _build_lock(wait=True):
        if rebuild and tree.folder.exists():
            _refuse_if_used(tree)
            disk.remove_folder(tree.folder)
        if not tree.root.is_dir():
            say("building the host tree (about a minute, once)")
            _build(tree)
            _forget_old_trees(tree)
    return tree


def remove_abandoned_builds() -> None:
    """Delete half-built trees whose builder has ended; a build that runs is left alone."""
    with _build_lock(wait=False) as held:
        if held:
            for folder in cache_folder().glob("building-*"):
                disk.remove_folder(folder)


@contextmanager
def _build_lock(*, wait: bool) -> Iterator[bool]:
    cache_folder().mkdir(mode=0o755, parents=True, exist_ok=True)
    with (cache_folder() / "lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def _build(tree: HostTree) -> None:
    for left in cache_folder().glob("building-*"):
        disk.remove_folder(left)
    building = HostTree(tree.folder.with_name(f"building-{os.getpid()}"))
    building.keys.mkdir(mode=0o700, parents=True)
    registry = Registry()
    with registry.locked():
        record = registry.claim(name=None, owner=myself(), tree=building.root, direct=True)
    try:
        _build_in(record, building)
        building.folder.rename(tree.folder)
    except LabError as error:
        raise LabError(f"the host tree could not be built: {error}") from error
    finally:
        with registry.locked():
            erase(record.slot, record.scratch)
        disk.remove_folder(building.folder)


def _build_in(record: HostRecord, building: HostTree) -> None:
    cgroup.make(record.slot)
    # In the slot's cgroup, so that it ends with its owner; in a mount namespace of its own, so that
    # nothing mmdebstrap mounts can outlive it.
    joined = ["sh", "-c", container.ENTER, str(cgroup.visitors(record.slot) / "cgroup.procs")]
    private = ["unshare", "--mount", "--propagation", "private"]
    # Its temporary files too lie where a killed build is swept away.
    scratch = building.folder / "tmp"
    scratch.mkdir(mode=0o755)
    env = {**os.environ, "TMPDIR": str(scratch)}
    script = [str(SCRIPT), str(building.root), str(building.keys)]
    run([*joined, *private, *script], timeout=LIMITS.build, env=env)
    disk.remove_folder(scratch)
    network_up(record.slot)
    disk.disk_up(record)
    container.start(record)
    run(container.enter(record.slot, ["/root/seed/provision"]))
    container.stop(record.slot, clean=True)
    disk.disk_down(record.slot)
    _sweep(building.root)


def _sweep(root: Path) -> None:
    """Take away what the first boot wrote and no later one should find."""
    for pattern in (
        "var/log/slurm/*.log",
        "var/lib/sss/pipes/nss",
        "var/lib/sss/pipes/pam",
        "var/lib/sss/pipes/ssh",
    ):
        for path in root.glob(pattern):
            path.unlink()
    for folder in ("var/lib/apt/lists", "tmp", "var/tmp"):
        for path in (root / folder).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _refuse_if_used(tree: HostTree) -> None:
    users = [record.name for record in Registry().records() if record.tree == tree.root]
    if users:
        raise LabError(
            f"{tree.folder} is in use by {', '.join(users)}: end them first (down, kill or reclaim)"
        )


def _forget_old_trees(fresh: HostTree) -> None:
    """Keep the last few trees: two checkouts may take turns. One in use is never removed."""
    used = {record.tree.parent for record in Registry().records()}
    folders = [path for path in cache_folder().iterdir() if (path / "tree").is_dir() and path != fresh.folder]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in folders[LIMITS.trees_kept - 1 :]:
        if folder not in used and not folder.name.startswith("building-"):
            disk.remove_folder(folder)
