"""Seals a finished folder, and shows later that nothing in it changed (design §3, rows 1, 13, 44; cases B1,
B2, B11, H10).

1. The folder's listing (``TREE``) is written, everything is brought to the disk, and only then ``SEAL``
   appears, by
   temporary name, fsync, rename, fsync of the folder. A folder without ``SEAL`` was never finished.
2. ``SEAL`` holds the digest of the listing; verification walks the folder and compares every entry.
3. What pip rewrites (shebangs) and compiles is inside the digest: it is ours that counts, not a wheel's
   RECORD.
4. Everything belongs to the folder's owner, and nothing can be written by group or others.
"""

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import shown
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.errors import refusal
from installer.domain.decoding import Fields, ManifestError
from installer.domain.strict_json import StrictJsonError, decode_object, encode_canonical
from installer.domain.tree import (
    TreeEntry,
    TreeListingError,
    decode_tree,
    encode_tree,
    path_fault,
    tree_differences,
    tree_sha256,
)

SEAL: Final = "SEAL"
TREE: Final = "TREE"
_SCHEMA: Final = 1
_SEAL_LIMIT: Final = 64 * 1024
_TREE_LIMIT: Final = 64 * 1024 * 1024
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN: Final = frozenset({SEAL, TREE})
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_NO_FILE: Final = frozenset({errno.ELOOP, errno.ENXIO})
_PIECE: Final = 1 << 20
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Seal:
    """What a finished folder says of itself."""

    release_id: str
    manifest_sha256: str
    tree_sha256: str
    entries: int


class _UnsealableError(Exception):
    """An entry that a seal cannot cover: one to be sealed never may have it, a sealed one was changed."""


def seal_tree(
    root: Path, *, release_id: str, manifest_sha256: str, checkpoint: Checkpoint = no_checkpoint
) -> Seal:
    """Seal the finished folder ``root``. Points: digest, seal-temp, seal-rename. Raises Refusal."""
    try:
        checkpoint("before-digest")
        try:
            entries = _entries(root)
        except _UnsealableError as error:
            raise refusal(
                "tree_unsealable", found=f"{root}: {error}", wanted="files of one user, writable by it alone"
            ) from error
        listing = encode_tree(entries)
        _write_synced(root, TREE, listing, lambda _point: None)
        _sync_file_system(root)
        checkpoint("after-digest")
        seal = Seal(release_id, manifest_sha256, tree_sha256(listing), len(entries))
        _write_synced(root, SEAL, _encode(seal), checkpoint)
    except OSError as error:
        raise refusal(
            "storage_failed", found=f"sealing {root}: {error.strerror}", wanted="a sealed folder"
        ) from error
    return seal


def read_seal(root: Path) -> Seal | None:
    """The seal of ``root``; None is proven absence. Raises Refusal ``seal_malformed`` or
    ``input_unreadable``.
    """
    data = _read(root, SEAL, _SEAL_LIMIT)
    if data is None:
        return None
    try:
        fields = Fields("seal", decode_object(data))
        schema = fields.integer("schema")
        seal = Seal(
            release_id=fields.text("releaseId"),
            manifest_sha256=fields.matching("manifestSha256", _SHA256),
            tree_sha256=fields.matching("treeSha256", _SHA256),
            entries=fields.integer("entries"),
        )
        fields.finish()
    except (StrictJsonError, ManifestError) as error:
        raise refusal(
            "seal_malformed", found=f"{root / SEAL}: {error}", wanted="a seal of schema 1"
        ) from error
    if schema != _SCHEMA:
        raise refusal("seal_malformed", found=f"{root / SEAL}: schema {schema}", wanted="a seal of schema 1")
    return seal


def verify_seal(root: Path, *, release_id: str | None = None) -> Seal:
    """The seal of ``root`` after comparing every entry. Raises Refusal that names what differs."""
    seal = read_seal(root)
    if seal is None:
        raise refusal("seal_missing", found=f"no {SEAL} in {root}", wanted="a finished folder")
    if release_id is not None and seal.release_id != release_id:
        raise refusal("seal_other_release", found=f"{root} is {seal.release_id}", wanted=release_id)
    kept = _read(root, TREE, _TREE_LIMIT) or b""
    if _is_exactly(root, kept, seal):
        return seal
    try:
        wanted = decode_tree(kept)
    except TreeListingError as error:
        raise refusal("tree_changed", found=f"{root / TREE}: {error}", wanted="the sealed listing") from error
    if tree_sha256(kept) != seal.tree_sha256 or len(wanted) != seal.entries:
        raise refusal("tree_changed", found=f"changed: {root / TREE}", wanted="the sealed listing")
    try:
        lines = tree_differences(wanted, _entries(root))
    except _UnsealableError as error:
        raise refusal(
            "tree_changed", found=f"{root}: {error}", wanted="the folder as it was sealed"
        ) from error
    except OSError as error:
        raise refusal(
            "input_unreadable", found=f"{root}: {error.strerror}", wanted="a readable folder"
        ) from error
    if lines:
        raise refusal("tree_changed", found=f"{root}: {shown(lines)}", wanted="the folder as it was sealed")
    return seal


def _is_exactly(root: Path, kept: bytes, seal: Seal) -> bool:
    """Whether the folder's own listing is the sealed one, byte for byte; what differs is told by others."""
    if tree_sha256(kept) != seal.tree_sha256 or kept.count(b"\n") != seal.entries:
        return False
    try:
        return encode_tree(_entries(root)) == kept
    except (_UnsealableError, OSError):
        return False


def remove_unsealed(root: Path) -> None:
    """Remove the unfinished folder ``root``; a sealed one, or what is no folder, is refused. Call it under
    the lock.
    """
    if read_seal(root) is not None:
        raise refusal(
            "tree_unsealable",
            found=f"{root} is sealed",
            wanted="an unfinished folder",
            remedy="Leave it as it is: only `install` of its own release removes a sealed folder.",
        )
    try:
        shutil.rmtree(root)
    except OSError as error:
        raise refusal(
            "storage_failed", found=f"removing {root}: {error.strerror}", wanted="no leftover"
        ) from error


def _read(root: Path, name: str, limit: int) -> bytes | None:
    """The regular file ``name`` of the folder ``root``, no link followed; None when it is proven absent."""
    try:
        folder = os.open(root, _FOLDER)
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(
            "input_unreadable", found=f"{root / name}: {error.strerror}", wanted="a sealed folder"
        ) from error
    if len(data) > limit:
        raise refusal(
            "seal_malformed", found=f"{root / name}: more than {limit} bytes", wanted="a sealed folder"
        )
    return data


def _entries(root: Path) -> list[TreeEntry]:
    folder = os.open(root, _FOLDER)
    try:
        facts = os.fstat(folder)
        if facts.st_uid not in {0, os.geteuid()} or facts.st_mode & _OTHERS_WRITE:
            raise _UnsealableError(f"it has {_ownership(facts)}")
        found_entries: list[TreeEntry] = []
        _walk(folder, "", facts.st_uid, found_entries)
    finally:
        os.close(folder)
    return found_entries


def _walk(folder: int, prefix: str, owner: int, entries: list[TreeEntry]) -> None:
    """Append what lies below the open ``folder``; every name is opened below its folder, no link followed.

    What is judged and hashed is one descriptor, so nothing can be exchanged in between.
    """
    for name in os.listdir(folder):
        if not prefix and name in _OWN:
            continue
        path = prefix + name
        if (fault := path_fault(path)) is not None:
            raise _UnsealableError(fault)
        try:
            inner = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise
            entries.append(_link(folder, name, path, owner))
            continue
        try:
            facts = os.fstat(inner)
            mode = facts.st_mode
            if facts.st_uid != owner or mode & _OTHERS_WRITE:
                raise _UnsealableError(f"{path!a} has {_ownership(facts)}")
            if stat.S_ISREG(mode):
                entries.append(TreeEntry(path, mode, _sha256(inner, facts.st_size)))
            elif stat.S_ISDIR(mode):
                entries.append(TreeEntry(path, mode, None))
                _walk(inner, f"{path}/", owner, entries)
            else:
                raise _UnsealableError(f"{path!a} is no file, link or folder")
        finally:
            os.close(inner)


def _link(folder: int, name: str, path: str, owner: int) -> TreeEntry:
    """The entry of what cannot be opened as a file: a link, or the refusal of anything else."""
    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISLNK(facts.st_mode):
        raise _UnsealableError(f"{path!a} is no file, link or folder")
    if facts.st_uid != owner:
        raise _UnsealableError(f"{path!a} has owner {facts.st_uid}")
    target = os.readlink(name, dir_fd=folder)
    return TreeEntry(path, stat.S_IFLNK, hashlib.sha256(os.fsencode(target)).hexdigest())


def _ownership(facts: os.stat_result) -> str:
    return f"owner {facts.st_uid} and mode {stat.S_IMODE(facts.st_mode):04o}"


def _sha256(descriptor: int, size: int) -> str:
    """The digest of all that can be read; a file that grows is read to its end. Most files need one read."""
    piece = os.read(descriptor, min(size, _PIECE) + 1)
    digest = hashlib.sha256(piece)
    if len(piece) != size:
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _encode(seal: Seal) -> bytes:
    return encode_canonical(
        {
            "schema": _SCHEMA,
            "releaseId": seal.release_id,
            "manifestSha256": seal.manifest_sha256,
            "treeSha256": seal.tree_sha256,
            "entries": seal.entries,
        }
    )


def _write_synced(root: Path, name: str, data: bytes, checkpoint: Checkpoint) -> None:
    folder = os.open(root, _FOLDER)
    temporary = f".{name}.{secrets.token_hex(8)}"
    try:
        checkpoint("before-seal-temp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        checkpoint("after-seal-temp")
        checkpoint("before-seal-rename")
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
        checkpoint("after-seal-rename")
    finally:
        os.close(folder)


def _sync_file_system(root: Path) -> None:
    """Bring everything pip wrote to the disk: one syncfs(2) instead of thousands of fsync(2)."""
    folder = os.open(root, _FOLDER)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.syncfs(folder) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(folder)
    with contextlib.suppress(OSError):
        parent = os.open(root.parent, _FOLDER)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
