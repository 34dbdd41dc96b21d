"""Opens what a person hands in, without following links, and judges the very descriptor that is read
afterwards.

1. Every folder from ``/`` down is opened by descriptor; a link anywhere is refused.
2. Every folder and the input itself belong to a trusted owner and cannot be written by group or others. A
   sticky folder
   such as /tmp is refused like any other: whoever came first owns the name there.
3. The input is a regular file within its bound.

Source: design rows 17 and 18; open(2) O_NOFOLLOW, fstat(2).
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.errors import refusal
from installer.bootstrap.handoff import maker_of

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may own an input, and whether a sticky folder above it is accepted (on a host it never is)."""

    owners: frozenset[int] = frozenset({0})
    sticky_parents: bool = False


HOST_TRUST: Final = Trust()


@contextmanager
def open_folder(path: Path, *, what: str, trust: Trust = HOST_TRUST) -> Iterator[int]:
    """A descriptor of the folder ``path`` for the block. Raises Refusal ``input_*``."""
    descriptor = os.open("/", _FOLDER)
    try:
        where = Path("/")
        for part in _parts(path):
            where /= part
            following = _open_at(descriptor, part, where, what, _FOLDER)
            os.close(descriptor)
            descriptor = following
            _judge(os.fstat(descriptor), where, what, trust)
        yield descriptor
    finally:
        os.close(descriptor)


def open_input(path: Path, *, what: str, size_limit: int, trust: Trust = HOST_TRUST) -> int:
    """A descriptor of the regular file ``path``, to be closed by the caller. Raises Refusal ``input_*``."""
    absolute = Path(os.path.normpath(path.absolute()))
    with open_folder(absolute.parent, what=what, trust=trust) as folder:
        descriptor = _open_at(folder, absolute.name, absolute, what, _FILE)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise refusal(
                "input_kind", found=f"{what} {absolute} is no regular file", wanted="a regular file"
            )
        _judge(facts, absolute, what, trust)
        if facts.st_size > size_limit:
            raise refusal(
                "input_too_large",
                found=f"{what} {absolute} has {facts.st_size} bytes",
                wanted=f"at most {size_limit}",
            )
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_input(path: Path, *, what: str, size_limit: int, trust: Trust = HOST_TRUST) -> bytes:
    """All bytes of the regular file ``path``. Raises Refusal ``input_*``."""
    with os.fdopen(open_input(path, what=what, size_limit=size_limit, trust=trust), "rb") as file:
        data = file.read(size_limit + 1)
    if len(data) > size_limit:
        raise refusal("input_too_large", found=f"{what} {path} grew", wanted=f"at most {size_limit} bytes")
    return data


def _parts(path: Path) -> tuple[str, ...]:
    """The folders below ``/``; ``..`` is resolved by text, which is right because links are refused."""
    return Path(os.path.normpath(path.absolute())).parts[1:]


def _open_at(folder: int, name: str, where: Path, what: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError as error:
        maker = maker_of(what)
        raise refusal("input_missing", found=f"no {where}", wanted=what, remedy=maker) from error
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and _is_link(folder, name):
            raise refusal(
                "input_link", found=f"{where} is a symbolic link", wanted=f"{what} by its real path"
            ) from error
        if error.errno in {errno.ENOTDIR, errno.ENXIO}:
            raise refusal("input_kind", found=f"{where} is of another kind", wanted=what) from error
        raise refusal("input_unreadable", found=f"{where}: {error.strerror}", wanted=what) from error


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _judge(facts: os.stat_result, where: Path, what: str, trust: Trust) -> None:
    if facts.st_uid not in trust.owners:
        raise refusal(
            "input_owner",
            found=f"{where} belongs to user {facts.st_uid}",
            wanted=f"{what} that belongs to {' or '.join(str(uid) for uid in sorted(trust.owners))}",
            remedy="Move the input to a folder of root that nobody else can change."
            if stat.S_ISDIR(facts.st_mode)
            else f"Compare {where} with the hand-off; if it is right put a copy that root owns in its place.",
        )
    sticky = stat.S_ISDIR(facts.st_mode) and bool(facts.st_mode & stat.S_ISVTX) and trust.sticky_parents
    if facts.st_mode & _OTHERS_WRITE and not sticky:
        raise refusal(
            "input_writable",
            found=f"{where} has mode {stat.S_IMODE(facts.st_mode):04o}",
            wanted=f"{what} that group and others cannot change",
            remedy="Move it to a folder that only root can write, such as /root."
            if facts.st_mode & stat.S_ISVTX
            else f"Others could have changed it: compare it with the hand-off. Then chmod go-w {where}, or"
            " move it to a folder that only root can write.",
        )
