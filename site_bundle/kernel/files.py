"""Small files: written whole (a temporary file beside it, then rename(2)), and read as an input that is
judged by the very descriptor it is read from.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class UntrustedInputError(ValueError):
    """Others than root and this user could have made or changed it; the text says what was found where."""


def write_atomically(path: Path, content: bytes, *, mode: int) -> None:
    """Replaces `path` by `content` with exactly `mode`. The name never shows a part; a link in its place is
    replaced, not followed. OSError is the caller's to map.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_bounded(path: Path, *, max_bytes: int) -> bytes:
    """The content of the file `path`, not through a link. OSError, or ValueError when it is longer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{path} is longer than {max_bytes} bytes")
    return content


def read_input(path: Path, *, max_bytes: int) -> bytes:
    """The content of the regular file `path`, which nobody but root and this user can have put there: no link
    in its way, every folder and the file theirs and not writable by others (a sticky folder aside).

    UntrustedInputError; OSError when it cannot be read; ValueError when it is longer. open(2), fstat(2).
    """
    folder = os.open("/", _FOLDER)
    try:
        where = Path("/")
        for part in path.parent.parts[1:]:
            where /= part
            inner = _open_at(folder, part, where, _FOLDER)
            os.close(folder)
            folder = inner
            _judge(os.fstat(folder), where)
        descriptor = _open_at(folder, path.name, path, _FILE)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UntrustedInputError(f"{path} is no regular file")
        _judge(facts, path)
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{path} is longer than {max_bytes} bytes")
    return content


def _open_at(folder: int, name: str, where: Path, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        # A link is ELOOP for a file and ENOTDIR for a folder, which may also be no folder at all.
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise UntrustedInputError(f"{where} is a symbolic link, or no folder") from error
        raise


def _judge(facts: os.stat_result, where: Path) -> None:
    if facts.st_uid not in {0, os.geteuid()}:
        raise UntrustedInputError(f"{where} belongs to user {facts.st_uid}")
    sticky = stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        raise UntrustedInputError(f"{where} has mode {stat.S_IMODE(facts.st_mode):04o}")
