"""Does the steps of ``install``. An unfinished folder is removed whole, never reused (rows 1, 43; B1, B2)."""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.archive import VerifiedArchive
from installer.bootstrap.environment import EnvironmentSpec, build_environment
from installer.bootstrap.seal import SEAL, remove_unsealed, seal_tree
from installer.domain.index import Index
from installer.domain.install_plan import (
    ApplyHostFile,
    BuildRelease,
    InstallAction,
    PlaceHostFile,
    RemoveRelease,
)
from installer.domain.manifest import MANIFEST_NAME
from installer.domain.refusal import INSTALL_FAILED, Refusal
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.files import make_folder, remove_file, sync_folder, write_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """The interpreter and the index of the profile, and the lock that children inherit."""

    interpreter: Path
    lock_fd: int
    index: Index | None = None


_PARTS = ("units/", "requirements/", "profiles/")


def perform_install(host: Host, action: InstallAction, archive: VerifiedArchive, *, builder: Builder) -> None:
    """Do one step. Raises Refusal (exit 6, or 4 for what does not verify), the unfinished folder removed."""
    try:
        match action:
            case RemoveRelease():
                _remove(host, action.release)
            case BuildRelease():
                _build(host, action, archive, builder)
            case PlaceHostFile():
                place = host.paths.at(action.path)
                make_folder(place.parent, 0o755)
                write_file(place, action.file)
            case ApplyHostFile():
                _apply(host, action)
    except OSError as error:
        raise Refusal(
            "install_failed",
            found=f"{type(action).__name__}: {error}",
            wanted="the step done",
            remedy="Free space or mend the mount, then run `install` again; nothing was switched.",
            exit_code=INSTALL_FAILED,
        ) from error


def _build(host: Host, action: BuildRelease, archive: VerifiedArchive, builder: Builder) -> None:
    checkpoint = host.checkpoints("install")
    root = host.paths.release(action.release)
    checkpoint("before-mkdir")
    make_folder(root.parent, 0o755)
    try:
        root.mkdir(mode=0o755)
        root.chmod(0o755)
        sync_folder(root.parent)
        checkpoint("after-mkdir")
        wanted = [path for part in _PARTS for path in archive.paths(part)]
        archive.extract([MANIFEST_NAME, *wanted], root)
        for component in action.components:
            venv = host.paths.venv(action.release, component)
            make_folder(venv.parent, 0o755)
            spec = EnvironmentSpec(
                path=venv,
                interpreter=builder.interpreter,
                requirements=archive.manifest.components[component].requirements,
                scratch=root.parent / f".{action.release}.wheels",
                console_script=archive.manifest.components[component].console_script,
                lock_fd=builder.lock_fd,
                index=builder.index,
                trust=host.paths.trust,
            )
            build_environment(
                spec, archive, checkpoint=checkpoint, progress=lambda text: host.report.say("step", text)
            )
        checkpoint("before-seal")
        seal_tree(
            root,
            release_id=action.release,
            manifest_sha256=archive.manifest_sha256,
            checkpoint=checkpoint,
        )
        sync_folder(root.parent)
    except BaseException:
        with host.signals.shielded():
            _discard(root)
        raise
    checkpoint("after-seal")


def _discard(root: Path) -> None:
    """Undo of the build: the folder and its scratch go; what cannot be removed now is garbage for the next
    run.
    """
    with contextlib.suppress(OSError, Refusal):
        shutil.rmtree(root.parent / f".{root.name}.wheels", ignore_errors=True)
        if root.exists():
            remove_unsealed(root)


def _remove(host: Host, release: str) -> None:
    root = host.paths.release(release)
    shutil.rmtree(root.parent / f".{release}.wheels", ignore_errors=True)
    remove_file(root / SEAL)
    if os.path.lexists(root):
        remove_unsealed(root)
    sync_folder(root.parent)


def _apply(host: Host, action: ApplyHostFile) -> None:
    argv = [action.tool, *(["--create"] if action.tool == "systemd-tmpfiles" else [])]
    if host.paths.root != Path("/"):
        argv.append(f"--root={host.paths.root}")
    try:
        done = host.run([*argv, action.path], timeout=host.limits.command_seconds)
    except CommandError as error:
        raise _tool_failed(action, str(error)) from error
    if done.code != 0:
        raise _tool_failed(action, (done.stderr.strip().splitlines() or [f"exit {done.code}"])[-1])


def _tool_failed(action: ApplyHostFile, why: str) -> Refusal:
    return Refusal(
        "host_file_failed",
        found=f"{action.tool} {action.path}: {why}",
        wanted="identities and folders made",
        remedy="Repair what it names, then run `install` again; nothing was switched.",
        exit_code=INSTALL_FAILED,
    )
