"""Files and links changed whole or not at all.

A write is a new file beside the old one, made with its final mode by its open flags (B34), synced, renamed
over it, and
the folder synced. Reading has three outcomes: the content, None for proven absent, Refusal ``unreadable``
(X1).
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from installer.bootstrap.inputs import Trust
from installer.domain.files import FileText
from installer.domain.refusal import BUG, VERIFICATION_FAILED, Refusal

_MARK = ".pharos-new-"


def read_file(path: Path, *, limit: int, trust: Trust | None = None) -> FileText | None:
    """A regular file of at most ``limit`` bytes with its mode; None when proven absent. Raises Refusal, and
    ForeignFileError when somebody beside ``trust`` could have changed it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _strange(path, "no regular file")
        fault = ownership_fault(status, trust) if trust is not None else None
        if fault is not None:
            raise ForeignFileError(f"{path} {fault}")
        data = bytearray()
        while len(data) <= limit and (chunk := os.read(descriptor, 65536)):
            data += chunk
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise _strange(path, f"longer than {limit} bytes")
    return FileText.of(bytes(data), stat.S_IMODE(status.st_mode))


class ForeignFileError(Exception):
    """A file of the installer's own that another hand made or could change; the text says how."""


def read_own(path: Path, *, limit: int, trust: Trust) -> FileText | None:
    """A file the installer wrote itself, in a folder and with an owner that nobody else could use to change
    it; None when proven absent.

    Raises ForeignFileError for the file, Refusal ``memory_untrusted`` for its folder, and as ``read_file``.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path.parent, error) from error
    try:
        fault = ownership_fault(os.fstat(folder), trust)
    finally:
        os.close(folder)
    if fault is not None:
        raise _untrusted(path.parent, fault)
    return read_file(path, limit=limit, trust=trust)


def ownership_fault(facts: os.stat_result, trust: Trust) -> str | None:
    """Who else could have changed what ``facts`` describe, or None."""
    if facts.st_uid not in trust.owners:
        return f"belongs to user {facts.st_uid}"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"has mode {stat.S_IMODE(facts.st_mode):04o}"
    return None


def write_file(path: Path, file: FileText) -> None:
    """Put ``file`` at ``path`` atomically and durably. Raises OSError, with nothing changed."""
    remove_leftovers(path)
    temporary = path.with_name(f".{path.name}{_MARK}{secrets.token_hex(6)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, file.mode & 0o600)
    try:
        try:
            _write_all(descriptor, file.data)
            os.fchmod(descriptor, file.mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove_file(path: Path) -> None:
    """Remove ``path`` durably; already absent is fine. Raises OSError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync_folder(path.parent)


def read_link(path: Path) -> str | None:
    """A link's text; None when proven absent. Raises Refusal for anything that is no link, or unreadable."""
    try:
        return os.readlink(path)  # noqa: PTH115 - the text itself, as it stands
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _strange(path, "no link") from error
        raise unreadable(path, error) from error


def set_link(path: Path, target: str | None) -> None:
    """Make ``path`` a link to ``target`` in one step (H18), or remove the link. Raises Refusal and OSError.

    A folder or file in its place is refused and left (row 28); a leftover of a killed run is removed first.
    """
    remove_leftovers(path)
    if read_link(path) == target:
        return
    if target is None:
        remove_file(path)
        return
    temporary = path.with_name(f".{path.name}{_MARK}{secrets.token_hex(6)}")
    temporary.symlink_to(target)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(path: Path, mode: int) -> None:
    """Make ``path`` and its missing parents (0755), ``path`` itself with ``mode``; what exists is left.
    OSError.
    """
    missing: list[Path] = []
    place = path
    while not place.exists():
        missing.append(place)
        place = place.parent
    for folder in reversed(missing):
        wanted = mode if folder == path else 0o755
        folder.mkdir(mode=wanted)
        folder.chmod(wanted)
        sync_folder(folder.parent)
    if not path.is_dir() or path.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "no folder", str(path))


def remove_leftovers(path: Path) -> None:
    """Remove temporary files and links a killed run left beside ``path``; the caller holds the lock."""
    for leftover in leftovers(path):
        with contextlib.suppress(OSError):
            leftover.unlink()


def leftovers(path: Path) -> Iterator[Path]:
    """Temporary names beside ``path`` that this module would have used."""
    prefix = f".{path.name}{_MARK}"
    try:
        names = [entry.name for entry in os.scandir(path.parent) if entry.name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        yield path.with_name(name)


def sync_folder(path: Path) -> None:
    """Make a folder's entries durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unreadable(path: Path, error: OSError) -> Refusal:
    """The refusal for a path that could not be read."""
    return Refusal(
        "unreadable",
        found=f"{path}: {error.strerror}",
        wanted="to read it: unreadable is not absent",
        remedy="Run it as root. If you did, repair the path or its file system, then run the phase again.",
        exit_code=VERIFICATION_FAILED if error.errno != errno.EMFILE else BUG,
    )


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _untrusted(folder: Path, fault: str) -> Refusal:
    return Refusal(
        "memory_untrusted",
        found=f"{folder} {fault}",
        wanted="a folder of root that nobody else can change",
        remedy="Somebody else could have written what lies there. Compare it with a backup and with"
        " /opt/pharos-hpc/components before you give the folder back to root (0700).",
        exit_code=VERIFICATION_FAILED,
    )


def _strange(path: Path, what: str) -> Refusal:
    return Refusal(
        "path_strange",
        found=f"{path} is {what}",
        wanted="what the installer itself makes there",
        remedy="Another hand made it. Look what needs it before you move it away; then run the phase again.",
        exit_code=VERIFICATION_FAILED,
    )
