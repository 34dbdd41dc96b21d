"""Room and rights on the file systems an install writes to (rows 9-12; H14, H23)."""

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from installer.host.commands import CommandError, Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is free where a folder is, or will be made."""

    place: Path
    """The nearest folder that exists."""
    mount: Path
    free_bytes: int
    free_inodes: int | None
    """None where the file system does not count them (btrfs says 0 of 0)."""


def room(path: Path) -> Room:
    """The room where ``path`` is, or will be. Raises OSError."""
    place = path
    while not place.exists():
        place = place.parent
    facts = os.statvfs(place)
    mount = place
    while not mount.is_mount() and mount != mount.parent:
        mount = mount.parent
    inodes = facts.f_favail if facts.f_files else None
    return Room(place=place, mount=mount, free_bytes=facts.f_bavail * facts.f_frsize, free_inodes=inodes)


def writable(place: Path) -> str | None:
    """Why nothing can be made in the folder ``place``, by trying it; None when it can."""
    probe = place / f".pharos-probe-{secrets.token_hex(6)}"
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return f"{place}: {error.strerror}"
    with contextlib.suppress(OSError):
        probe.unlink()
    return None


def executable(run: Runner, place: Path) -> str | None:
    """Why no program can run from the folder ``place``, by running one there; None when it can."""
    probe = place / f".pharos-probe-{secrets.token_hex(6)}"
    try:
        descriptor = os.open(
            probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700
        )
        try:
            os.write(descriptor, b"#!/bin/sh\nexit 0\n")
        finally:
            os.close(descriptor)
        done = run([os.fspath(probe)], timeout=10)
    except OSError as error:
        return f"{place}: {error.strerror}"
    except CommandError as error:
        return str(error)
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return None if done.code == 0 else f"a program in {place} exits {done.code}"
