"""The Runtime's own folder on the shared file system: helper, CA, drop folder (S4, K03, K05).

`<root>/<attempt>-<name>/` 2710 holds `askpass` 0750 and `ca.crt` 0640; below it the drop folder 3730 under a
name nobody can guess or list, where a stage leaves one file. The group is the members'; none of it is secret.
What a member wrote is read only from here, only as a regular file of theirs, at most a line; nothing below a
member's own folder is ever looked at. Whatever else a member left here is no result and stops nothing: it is
not followed and not entered, and what cannot be taken away without that stays.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.files import read_bounded, write_atomically
from site_bundle.runtime.domain.script import Grant, filled, grant_of, origin_of, quoted
from site_bundle.runtime.domain.verdict import Output

MAX_RESULT = 256
MAX_AUTHORITY = 1 << 20
MAX_DROPPED = 10_000
_RESULT = re.compile(
    rb"(refs/heads/pharos/runs/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) ([0-9a-f]{40}|[0-9a-f]{64})\n"
)


@dataclass(frozen=True, slots=True)
class ScratchGrants:
    """The port Grants. `authority`: the repository's CA file, None for the nodes' own store."""

    root: Path
    helper: str
    authority: Path | None
    salt: Callable[[], str]

    def grant(self, attempt_id: UUID, url: str) -> Grant:
        return grant_of(attempt_id, origin_of(url), self._authority(), self.salt())

    def place(self, grant: Grant) -> Path:
        return self.root / grant.name

    def prepare(self, grant: Grant, url: str) -> None:
        folder = self.place(grant)
        with _mapped(folder):
            _own_folder(folder, 0o2710)
            helper = filled(self.helper, {"ORIGIN": quoted(origin_of(url))}).encode()
            _file(folder / "askpass", helper, 0o750)
            authority = self._authority()
            if authority:
                _file(folder / "ca.crt", authority, 0o640)
            _own_folder(folder / grant.drop, 0o3730)

    def output(self, attempt_id: UUID, command_id: UUID, uid: int) -> Output | None:
        for folder in self._of(attempt_id):
            with _mapped(folder):
                for drop in (each for each in folder.iterdir() if each.is_dir()):
                    found = _read_result(drop / str(command_id), uid)
                    if found is not None:
                        return found
        return None

    def release(self, attempt_id: UUID) -> None:
        for folder in self._of(attempt_id):
            with _mapped(folder):
                _release(folder)

    def probe(self) -> None:
        """A file can be made, and belongs to the members' group by itself (S4). UnavailableError."""
        place = self.root / f".probe-{os.getpid()}"
        with _mapped(self.root):
            try:
                _own_folder(place, 0o2710)
                group = place.stat().st_gid
            finally:
                with suppress(FileNotFoundError):
                    place.rmdir()
            wanted = self.root.stat().st_gid
        if group != wanted:
            raise UnavailableError(
                "scratch_group",
                found=f"a folder made in {self.root} has group {group}",
                wanted=f"group {wanted}, by the set-group-ID bit",
                remedy="chmod 2710 the folder, and approve SupplementaryGroups= in the profile",
            )

    def _of(self, attempt_id: UUID) -> list[Path]:
        with _mapped(self.root):
            return [each for each in self.root.iterdir() if each.name.startswith(f"{attempt_id}-")]

    def _authority(self) -> bytes:
        if self.authority is None:
            return b""
        with _mapped(self.authority):
            return read_bounded(self.authority, max_bytes=MAX_AUTHORITY)


def _own_folder(path: Path, mode: int) -> None:
    """Makes `path` if it is missing. Its set-group-ID bit and group come from the folder above (mkdir(2)):
    the unit may not set the bit itself (RestrictSUIDSGID=), and need not.
    """
    before = os.umask(0)
    try:
        with suppress(FileExistsError):
            path.mkdir(mode & 0o1777)
    finally:
        os.umask(before)
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) != mode:
        raise PermissionError(1, f"no folder of this user's with mode {mode:04o}")


def _file(path: Path, content: bytes, mode: int) -> None:
    with suppress(OSError, ValueError):
        if (
            read_bounded(path, max_bytes=len(content)) == content
            and stat.S_IMODE(path.stat().st_mode) == mode
        ):
            return
    write_atomically(path, content, mode=mode)


# What opening a member's own entry answers when they made it no file to be read: a link or a socket in its
# place by now, one of mode 0000, one that is gone.
_NO_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.EACCES, errno.ENOENT})


def _read_result(path: Path, uid: int) -> Output | None:
    """The line in a regular file of `uid`'s, not through a link; None when there is none such."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    if not _is_result(facts, uid):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not _is_result(os.fstat(file.fileno()), uid):
            return None
        match = _RESULT.fullmatch(file.read(MAX_RESULT))
    return Output(match[1].decode(), match[2].decode()) if match else None


def _is_result(facts: os.stat_result, uid: int) -> bool:
    return stat.S_ISREG(facts.st_mode) and facts.st_uid == uid and facts.st_nlink == 1


def _release(folder: Path) -> None:
    """Takes an Attempt's folder away: helper and CA first, then the drop folders.

    What is inside a drop folder others may exchange at any moment, so nothing there is entered: files and
    links are unlinked, empty folders removed, and a folder with something in it stays, with those above it.
    A drop folder is read as a stream, some entries at a time: UnavailableError while that took any and more
    is left. Where so many cannot go, the rest is a member's own to take away.
    """
    drops = []
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            drops.append(Path(entry.path))
        else:
            Path(entry.path).unlink(missing_ok=True)
    for drop in drops:
        _empty(drop)
        _remove_empty(drop)
    _remove_empty(folder)


def _empty(drop: Path) -> None:
    descriptor = os.open(drop, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        with os.scandir(descriptor) as entries:
            names = (entry.name for entry in entries)
            taken = sum(_taken(name, descriptor) for name in islice(names, MAX_DROPPED))
            if taken and next(names, None) is not None:
                raise UnavailableError(
                    "drop_folder_full",
                    found=f"{drop.parent.name}: {taken} entries taken out of its drop folder, more are left",
                    wanted=f"at most {MAX_DROPPED} at a time, so that nothing else waits",
                    remedy="nothing: the next turn goes on; if it never ends, a member still writes there",
                )
    finally:
        os.close(descriptor)


def _taken(name: str, descriptor: int) -> bool:
    """Whether the entry is gone by this."""
    try:
        os.unlink(name, dir_fd=descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in {errno.EISDIR, errno.EPERM}:
            raise
        return _remove_empty(name, descriptor)
    return True


def _remove_empty(name: str | Path, descriptor: int | None = None) -> bool:
    """rmdir(2) of a folder, if nothing is in it; whether it was."""
    try:
        os.rmdir(name, dir_fd=descriptor)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR}:
            raise
        return False
    return True


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UnavailableError(
            "scratch_unavailable",
            found=f"{path}: {getattr(error, 'strerror', None) or error}",
            wanted="the Runtime's folder below scratch, mode 2710 and this user's, in the members' group",
            remedy="look at the file system, its owner and mode, and SupplementaryGroups= of the unit",
        ) from error
