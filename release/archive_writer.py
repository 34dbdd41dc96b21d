"""Writes the archive: the same bytes for the same files, whoever writes them, wherever and whenever (design
§1).

POSIX ustar headers with owner 0:0 without names, modes 0644/0755, the commit's time; members sorted; one
gzip member without name and time.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from installer.domain.members import Member, members_fault
from release.errors import ReleaseError

_COMPRESSION = 9


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the archive."""

    data: bytes
    mode: int = 0o644


def pack(folder: str, entries: Mapping[str, Entry], epoch: int) -> bytes:
    """The archive of ``entries`` (path to content) below the one folder ``folder``. Raises ReleaseError
    ``member_refused``.
    """
    named = {f"{folder}/{path}": entry for path, entry in sorted(entries.items())}
    reason = members_fault(Member(name, "file", entry.mode, len(entry.data)) for name, entry in named.items())
    if reason is not None:
        raise _refused(reason)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as writer:
        for name, entry in named.items():
            header = tarfile.TarInfo(name)
            header.size, header.mode, header.mtime = len(entry.data), entry.mode, epoch
            try:
                writer.addfile(header, io.BytesIO(entry.data))
            except ValueError as error:
                raise _refused(f"{name}: {error}") from error
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=_COMPRESSION, mtime=0) as file:
        file.write(tar.getvalue())
    return packed.getvalue()


def read_entry(path: Path) -> Entry:
    """The regular file ``path``, executable or not."""
    if path.is_symlink() or not path.is_file():
        raise _refused(f"{path} is no regular file")
    return Entry(path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)


def _refused(found: str) -> ReleaseError:
    return ReleaseError(
        "member_refused",
        found=found,
        wanted="regular files with plain names of at most 100 characters after the last folder",
        remedy="Rename or drop the file.",
    )
