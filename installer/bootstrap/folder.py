"""The folder install.sh runs from must be, file for file, what the verified archive holds (I4).

An edited, missing, extra, linked, re-moded or re-owned file is refused and named; a bytecode cache is an
extra file.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from installer.bootstrap.archive import VerifiedArchive, shown
from installer.bootstrap.errors import refusal
from installer.bootstrap.inputs import HOST_TRUST, Trust, open_folder
from installer.domain.manifest import MANIFEST_NAME, ManifestFile, differences

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def verify_folder(folder: Path, archive: VerifiedArchive, *, trust: Trust = HOST_TRUST) -> None:
    """Raises Refusal ``folder_differs`` or ``input_*``."""
    manifest_file = ManifestFile(MANIFEST_NAME, archive.manifest_sha256, len(archive.manifest_bytes), 0o644)
    largest = max(entry.size for entry in (*archive.manifest.files, manifest_file))
    with open_folder(folder, what="the extracted folder", trust=trust) as descriptor:
        found = list(_walk(descriptor, "", trust, largest))
    lines = differences((*archive.manifest.files, manifest_file), found)
    if lines:
        raise _differs(shown(lines))


def _walk(folder: int, prefix: str, trust: Trust, largest: int) -> Iterator[ManifestFile]:
    for name in _names(folder):
        path = prefix + name
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if facts.st_uid not in trust.owners or (facts.st_mode & 0o022 and not stat.S_ISLNK(facts.st_mode)):
            raise _differs(f"{path!a} belongs to {facts.st_uid} or can be written by others")
        if stat.S_ISDIR(facts.st_mode):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                if not _names(inner):
                    raise _differs(f"not in the manifest: {path!a}/")
                yield from _walk(inner, f"{path}/", trust, largest)
            finally:
                os.close(inner)
        elif stat.S_ISREG(facts.st_mode):
            yield _read(folder, name, path, largest)
        else:
            raise _differs(f"{path!a} is no regular file")


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as listing:
        return sorted(entry.name for entry in listing)


def _read(folder: int, name: str, path: str, largest: int) -> ManifestFile:
    with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        data = file.read(largest + 1)
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    return ManifestFile(path, hashlib.sha256(data).hexdigest(), len(data), mode)


def _differs(found: str) -> Exception:
    return refusal("folder_differs", found=found, wanted="the archive's files and nothing else")
