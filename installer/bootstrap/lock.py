"""One installer at a time: flock on a file of root, held to the end and handed on purpose to pip (row 25,
row 43).

The kernel drops the lock with its last descriptor, so a stale lock cannot exist; a pip that outlives a
killed installer still holds it, and is the one named.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from installer.bootstrap.errors import refusal

LOCK: Final = Path("/var/lib/pharos-installer/lock")


@contextlib.contextmanager
def hold(path: Path = LOCK, *, verb: str) -> Iterator[int]:
    """The lock for the block; yields its descriptor (close-on-exec). The folder is made 0700.

    Raises Refusal ``locked`` (exit 5, naming the holders), ``lock_unusable``, ``host_not_root``,
    ``storage_failed``.
    """
    descriptor = _open(path)
    try:
        _lock(descriptor, path)
        # The kernel's lock is what counts: a full disk takes no note, and must not stop a recovery.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {verb}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise refusal("locked", found=_holders(descriptor, path), wanted="no other installer") from error
    except OSError as error:
        raise refusal("storage_failed", found=f"{path}: {error.strerror}", wanted="the lock") from error


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
    except PermissionError as error:
        raise refusal("host_not_root", found=f"no right to open {path}", wanted="root") from error
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENOTDIR, errno.ENXIO, errno.EEXIST}:
            raise refusal(
                "lock_unusable", found=f"{path}: {error.strerror}", wanted="a regular file"
            ) from error
        raise refusal("storage_failed", found=f"{path}: {error.strerror}", wanted="the lock") from error
    try:
        _judge(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _judge(path: Path, facts: os.stat_result) -> None:
    """Raise ``lock_unusable`` unless lock and folder are of who runs this, or root, alone: in a folder of
    others the journal beside the lock could be theirs too.
    """
    if not stat.S_ISREG(facts.st_mode):
        raise refusal("lock_unusable", found=f"{path} is no regular file", wanted="a regular file")
    for place, seen in ((path.parent, path.parent.stat()), (path, facts)):
        if seen.st_uid not in {0, os.geteuid()} or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise refusal(
                "lock_unusable",
                found=f"{place} belongs to user {seen.st_uid} with mode {stat.S_IMODE(seen.st_mode):04o}",
                wanted="a folder and a lock of root that nobody else can change",
            )


def _holders(descriptor: int, path: Path) -> str:
    """Who has the lock file open, by the kernel's own tables; what the file says where those cannot be
    read.
    """
    facts = os.fstat(descriptor)
    holders: list[str] = []
    for entry in sorted(Path("/proc").iterdir(), key=lambda item: item.name):
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _has_open(entry, facts):
            holders.append(f"{entry.name} ({_command(entry)})")
    note = os.pread(descriptor, 200, 0).decode("ascii", "replace").strip()
    return f"{path} held by process {', '.join(holders) or 'unknown'}; written in it: {note or 'nothing'}"


def _has_open(process: Path, facts: os.stat_result) -> bool:
    try:
        for link in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                found = link.stat()
                if (found.st_dev, found.st_ino) == (facts.st_dev, facts.st_ino):
                    return True
    except OSError:
        return False
    return False


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "gone"
