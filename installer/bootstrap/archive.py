"""Opens a release archive only after everything about it was verified, in this order (I2, I4):

1. the file is opened without following links and copied, once, into sealed memory: from here on nobody can
   change it;
2. every signature beside it verifies over those bytes, at least one is there;
3. it is exactly one complete gzip member with nothing after it;
4. every member obeys ``installer.domain.members``, all of them judged before any is used;
5. the manifest is schema 1 and names every other member, with digest, size and mode, and nothing else;
6. every requirements file names exactly wheels of the archive (in dependency mode index: others too, by
   hash), and every wheel is named by one.

Nothing is written to a file system before all six hold. Refusals have exit code 4.
"""

import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from installer.bootstrap.errors import refusal
from installer.bootstrap.handoff import ARCHIVE
from installer.bootstrap.inputs import HOST_TRUST, Trust, open_input
from installer.bootstrap.signature import (
    ARCHIVE_NAMESPACE,
    VerifiedSignature,
    sealed_copy_of,
    verify_signatures,
)
from installer.domain.decoding import ManifestError
from installer.domain.manifest import MANIFEST_NAME, Manifest, ManifestFile, decode, differences, release_id
from installer.domain.members import LIMITS, Member
from installer.domain.requirements import RequirementsError, match_wheels, parse_requirements
from installer.domain.ustar import UstarError, read_members

ARCHIVE_LIMIT: Final = 256 * 1024 * 1024
WHEELS: Final = "wheels/"
_CHUNK: Final = 1 << 20
_SHOWN: Final = 5
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Content:
    offset: int
    size: int
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedArchive:
    """An archive for which all six rules hold; a context manager. Paths are those of the manifest."""

    path: Path
    sha256: str
    manifest: Manifest
    manifest_bytes: bytes
    signatures: tuple[VerifiedSignature, ...]
    unsupported_signatures: tuple[str, ...]
    _tar: int
    _contents: Mapping[str, _Content]

    @property
    def manifest_sha256(self) -> str:
        """SHA-256 of the manifest's bytes."""
        return hashlib.sha256(self.manifest_bytes).hexdigest()

    @property
    def release_id(self) -> str:
        """The name of the release on a host."""
        return release_id(self.manifest_bytes, self.manifest.version)

    def paths(self, prefix: str = "") -> tuple[str, ...]:
        """The paths that start with ``prefix``, sorted; the manifest's own is among them."""
        return tuple(sorted(path for path in self._contents if path.startswith(prefix)))

    def read(self, path: str) -> bytes:
        """The bytes of the file ``path``. Raises KeyError when the manifest has none of that name."""
        content = self._contents[path]
        return os.pread(self._tar, content.size, content.offset)

    def wheels_of(self, requirements: str) -> tuple[str, ...]:
        """The wheels of the archive that the requirements file ``requirements`` names, as paths."""
        listed = parse_requirements(self.read(requirements).decode("ascii"))
        named = match_wheels(listed, _wheels(self.manifest), partial=_partial(self.manifest))
        return tuple(sorted(WHEELS + file_name for file_name in named.values()))

    def extract(self, paths: Iterable[str], destination: Path, *, sync: bool = True) -> None:
        """Write the files ``paths`` below the existing folder ``destination``, with their modes whatever
        the umask.

        Each file is made anew (an existing one refuses) and synced, unless it is for the moment only. Raises
        Refusal ``storage_failed``.
        """
        where = destination
        try:
            root = os.open(destination, _FOLDER)
            try:
                for path in paths:
                    where = destination / path
                    self._write(root, path, sync=sync)
            finally:
                os.close(root)
        except OSError as error:
            raise refusal(
                "storage_failed", found=f"{where}: {error.strerror}", wanted="a new file"
            ) from error

    def close(self) -> None:
        """Give the sealed copy back."""
        os.close(self._tar)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, root: int, path: str, *, sync: bool) -> None:
        folders, _, name = path.rpartition("/")
        with ExitStack() as opened:
            folder = os.dup(root)
            opened.callback(os.close, folder)
            for part in filter(None, folders.split("/")):
                folder = _make_folder(folder, part)
                opened.callback(os.close, folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(self.read(path))
                file.flush()
                os.fchmod(file.fileno(), self._contents[path].mode)
                if sync:
                    os.fsync(file.fileno())
            if sync:
                os.fsync(folder)


def open_verified(path: Path, *, allowed_signers: Path, trust: Trust = HOST_TRUST) -> VerifiedArchive:
    """The archive at ``path``, verified by the rules above. Raises Refusal."""
    source = open_input(path, what=ARCHIVE, size_limit=ARCHIVE_LIMIT, trust=trust)
    try:
        packed = sealed_copy_of(source, "archive", size_limit=ARCHIVE_LIMIT)
    finally:
        os.close(source)
    try:
        digest = _sha256(packed)
        verdict = verify_signatures(
            packed, path, namespace=ARCHIVE_NAMESPACE, allowed_signers=allowed_signers, trust=trust
        )
        tar = _unpack(packed)
    finally:
        os.close(packed)
    try:
        manifest_bytes, manifest, contents = _judge(tar)
    except BaseException:
        os.close(tar)
        raise
    return VerifiedArchive(
        path=path,
        sha256=digest,
        manifest=manifest,
        manifest_bytes=manifest_bytes,
        signatures=verdict.verified,
        unsupported_signatures=verdict.unsupported,
        _tar=tar,
        _contents=contents,
    )


def _make_folder(parent: int, name: str) -> int:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        made = False
    else:
        made = True
    folder = os.open(name, _FOLDER, dir_fd=parent)
    if made:
        os.fchmod(folder, 0o755)
        os.fsync(parent)
    return folder


def _sha256(descriptor: int) -> str:
    digest = hashlib.sha256()
    offset = 0
    while chunk := os.pread(descriptor, _CHUNK, offset):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()


def _unpack(packed: int) -> int:
    """The tar file inside the one gzip member, as a memory file (rule 3)."""
    inflate = zlib.decompressobj(wbits=31)
    limit = LIMITS.total_size + LIMITS.members * 1024
    tar = os.memfd_create("tar", os.MFD_CLOEXEC)
    try:
        offset = written = 0
        with os.fdopen(os.dup(tar), "wb") as file:
            while not inflate.eof:
                data = inflate.unconsumed_tail or os.pread(packed, _CHUNK, offset)
                if not inflate.unconsumed_tail:
                    offset += len(data)
                if not data:
                    raise _compression("the compressed data ends too early")
                piece = inflate.decompress(data, _CHUNK)
                written += file.write(piece)
                if written > limit:
                    raise _compression(f"more than {limit} bytes unpacked")
        if inflate.unused_data or os.pread(packed, 1, offset):
            raise _compression("bytes after the gzip member")
    except zlib.error as error:
        os.close(tar)
        raise _compression(str(error)) from error
    except BaseException:
        os.close(tar)
        raise
    return tar


def _compression(found: str) -> Exception:
    return refusal("archive_compression", found=found, wanted="one gzip member and nothing else")


def _judge(tar: int) -> tuple[bytes, Manifest, dict[str, _Content]]:
    """Rules 4 to 6."""
    try:
        members = read_members(lambda offset, size: os.pread(tar, size, offset), os.fstat(tar).st_size)
    except UstarError as error:
        raise refusal("archive_member", found=str(error), wanted="regular files with plain names") from error
    top = _top_folder(members)
    contents = {
        member.name.removeprefix(top): _Content(offset, member.size, member.mode)
        for member, offset in members
    }
    listed = contents.get(MANIFEST_NAME)
    if listed is None:
        raise refusal(
            "archive_manifest", found=f"no {MANIFEST_NAME} in {top}", wanted="a manifest of schema 1"
        )
    manifest_bytes = os.pread(tar, listed.size, listed.offset)
    try:
        manifest = decode(manifest_bytes)
    except ManifestError as error:
        raise refusal("archive_manifest", found=str(error), wanted="a manifest of schema 1") from error
    if top != f"{manifest.archive_folder}/":
        raise refusal("archive_contents", found=f"the folder {top}", wanted=f"{manifest.archive_folder}/")
    _compare(tar, manifest, contents)
    _check_requirements(tar, manifest, contents)
    return manifest_bytes, manifest, contents


def _top_folder(members: list[tuple[Member, int]]) -> str:
    tops = {member.name.partition("/")[0] + "/" for member, _ in members}
    if len(tops) != 1 or any("/" not in member.name for member, _ in members):
        raise refusal("archive_contents", found=f"{len(tops)} entries at the top", wanted="one folder")
    return tops.pop()


def _compare(tar: int, manifest: Manifest, contents: Mapping[str, _Content]) -> None:
    found = (
        ManifestFile(path, hashlib.sha256(os.pread(tar, c.size, c.offset)).hexdigest(), c.size, c.mode)
        for path, c in contents.items()
        if path != MANIFEST_NAME
    )
    lines = differences(manifest.files, found)
    if contents[MANIFEST_NAME].mode != 0o644:
        lines.append(f"mode {contents[MANIFEST_NAME].mode:04o} instead of 0644: {MANIFEST_NAME}")
    if lines:
        raise refusal("archive_contents", found=shown(lines), wanted="exactly the manifest's files")


def _check_requirements(tar: int, manifest: Manifest, contents: Mapping[str, _Content]) -> None:
    wheels = _wheels(manifest)
    used: set[str] = set()
    files = [manifest.controller_requirements, *(c.requirements for c in manifest.components.values())]
    for path in files:
        content = contents[path]
        try:
            text = os.pread(tar, content.size, content.offset).decode("ascii")
            named = match_wheels(parse_requirements(text), wheels, partial=_partial(manifest))
            used.update(named.values())
        except (RequirementsError, UnicodeDecodeError) as error:
            raise refusal(
                "archive_requirements", found=f"{path}: {error}", wanted="one wheel a line"
            ) from error
    extra = sorted(wheels.keys() - used)
    if extra:
        raise refusal(
            "archive_requirements",
            found=f"{WHEELS}{extra[0]} is in no requirements file",
            wanted="only named wheels",
        )


def _partial(manifest: Manifest) -> bool:
    return manifest.dependency_mode == "index"


def _wheels(manifest: Manifest) -> dict[str, str]:
    return {
        entry.path.removeprefix(WHEELS): entry.sha256
        for entry in manifest.files
        if entry.path.startswith(WHEELS)
    }


def shown(lines: list[str]) -> str:
    """The first differences, and how many more there are."""
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
