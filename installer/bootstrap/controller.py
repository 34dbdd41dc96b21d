"""The installer's own environment: built once for a release, sealed, reused while the seal verifies."""

import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import VerifiedArchive
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.environment import EnvironmentSpec, build_environment
from installer.bootstrap.errors import refusal
from installer.bootstrap.inputs import HOST_TRUST, Trust, open_folder
from installer.bootstrap.seal import read_seal, remove_unsealed, seal_tree, verify_seal
from installer.domain.index import Index

ROOT: Final = Path("/opt/pharos-hpc")
CONSOLE_SCRIPT: Final = "pharos-installer"
_LINK: Final = "current"
_SCRATCH: Final = ".wheels"


@dataclass(frozen=True, slots=True)
class ControllerPort:
    """Where and with what the controller is built; a laboratory may name points at which it is killed."""

    interpreter: Path
    root: Path = ROOT
    trust: Trust = HOST_TRUST
    checkpoint: Checkpoint = no_checkpoint
    progress: Callable[[str], None] = lambda _text: None
    index: Index | None = None


def controller_path(archive: VerifiedArchive, root: Path = ROOT) -> Path:
    """Where this release's controller stands, or will."""
    return root / "controller" / archive.release_id


def find_controller(archive: VerifiedArchive, root: Path = ROOT) -> Path | None:
    """The finished controller of this release, verified; None when there is none. Raises Refusal
    ``tree_changed``.
    """
    path = controller_path(archive, root)
    if read_seal(path) is None:
        return None
    verify_seal(path, release_id=archive.release_id)
    return path


def ensure_controller(archive: VerifiedArchive, port: ControllerPort, lock_fd: int) -> Path:
    """The verified controller, built if it is not there, and ``current`` pointing at it. Call it under the
    lock.
    """
    folder = port.root / "controller"
    try:
        for path in (port.root, folder):
            with open_folder(path.parent, what="the folder of releases", trust=port.trust):
                _make_folder(path)
        with open_folder(folder, what="the folder of controllers", trust=port.trust):
            pass
        _refuse_foreign(folder / _LINK)
        found = find_controller(archive, port.root)
        if found is None:
            found = _build(archive, port, lock_fd)
        _point(folder, archive.release_id)
    except OSError as error:
        raise refusal("storage_failed", found=f"{folder}: {error}", wanted="the controller") from error
    return found


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o755)
    except FileExistsError:
        return
    path.chmod(0o755)


def _build(archive: VerifiedArchive, port: ControllerPort, lock_fd: int) -> Path:
    path = controller_path(archive, port.root)
    scratch = path.parent / _SCRATCH
    if path.is_symlink():
        raise refusal("host_link", found=f"{path} is a symbolic link", wanted="no such entry yet")
    if scratch.exists():
        shutil.rmtree(scratch)
    if path.exists():
        port.progress(f"removing {path}: it was never finished")
        remove_unsealed(path)
    port.progress(f"building the controller at {path}")
    spec = EnvironmentSpec(
        path=path,
        interpreter=port.interpreter,
        requirements=archive.manifest.controller_requirements,
        scratch=scratch,
        console_script=CONSOLE_SCRIPT,
        lock_fd=lock_fd,
        keep_tools=True,
        index=port.index,
        trust=port.trust,
    )
    build_environment(spec, archive, checkpoint=port.checkpoint, progress=port.progress)
    seal_tree(
        path,
        release_id=archive.release_id,
        manifest_sha256=archive.manifest_sha256,
        checkpoint=port.checkpoint,
    )
    return path


def _point(folder: Path, target: str) -> None:
    """``current`` -> ``target``: a unique temporary link and one rename; stale temporaries go, foreign
    things stay.
    """
    link = folder / _LINK
    if link.is_symlink() and link.readlink() == Path(target):
        return
    _refuse_foreign(link)
    for stale in folder.glob(f".{_LINK}.*"):
        if stale.is_symlink():
            stale.unlink()
    temporary = folder / f".{_LINK}.{secrets.token_hex(8)}"
    temporary.symlink_to(target)
    temporary.replace(link)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_foreign(link: Path) -> None:
    """What stands where our link belongs is our link or nothing (row 28)."""
    if link.exists() and not link.is_symlink():
        raise refusal("host_link", found=f"{link} is no symbolic link", wanted="a link to a controller")
