"""The digest of an installed folder: one line an entry, sorted by path, hashed with SHA-256 (X14).

A line is ``<mode, six octal digits> <sha256 or -> <path>`` and a newline. The mode is the full ``st_mode``
(type and permissions), the digest is a file's content or a link's target text, and ``-`` for a folder. An
extra, missing, edited, renamed or re-moded entry therefore changes the digest. The lines are kept beside
the seal, so a refusal can name the entry.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, order=True)
class TreeEntry:
    """One entry below the sealed folder; ``sha256`` is None for a folder."""

    path: str
    mode: int
    sha256: str | None


_PLACE = attrgetter("path", "mode")
"""A path stands once below a folder, so its order needs no digests."""


class TreeListingError(ValueError):
    """The kept lines are not a tree listing."""


def path_fault(path: str) -> str | None:
    """Why ``path`` cannot be listed, or None: a line must stay one line."""
    if not path.isprintable():
        return f"the name {path!a} has unprintable characters"
    return None


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """The listing of ``entries``; the tree digest is its SHA-256."""
    lines = [
        f"{entry.mode:06o} {entry.sha256 or '-'} {entry.path}\n" for entry in sorted(entries, key=_PLACE)
    ]
    return "".join(lines).encode("utf-8")


def tree_sha256(listing: bytes) -> str:
    """The tree digest."""
    return hashlib.sha256(listing).hexdigest()


def decode_tree(listing: bytes) -> list[TreeEntry]:
    """The entries of a kept listing. Raises TreeListingError unless it is exactly what ``encode_tree``
    writes.
    """
    entries: list[TreeEntry] = []
    try:
        lines = listing.decode("utf-8").split("\n")
        for line in lines[:-1]:
            mode, digest, path = line.split(" ", 2)
            if digest != "-" and (len(digest) != 64 or not _DIGITS.issuperset(digest)):
                raise TreeListingError("a digest that is none")
            entries.append(TreeEntry(path, int(mode, 8), None if digest == "-" else digest))
    except ValueError as error:
        raise TreeListingError("not a tree listing") from error
    if encode_tree(entries) != listing:
        raise TreeListingError("not a tree listing in its one form")
    return entries


def tree_differences(wanted: Iterable[TreeEntry], found: Iterable[TreeEntry]) -> list[str]:
    """One line a differing path, sorted; empty when equal."""
    by_path = {entry.path: entry for entry in wanted}
    found_by_path = {entry.path: entry for entry in found}
    lines = [f"missing: {path}" for path in by_path.keys() - found_by_path.keys()]
    lines += [f"extra: {path}" for path in found_by_path.keys() - by_path.keys()]
    for path in by_path.keys() & found_by_path.keys():
        if by_path[path].mode != found_by_path[path].mode:
            lines.append(f"mode {found_by_path[path].mode:o} instead of {by_path[path].mode:o}: {path}")
        elif by_path[path].sha256 != found_by_path[path].sha256:
            lines.append(f"changed: {path}")
    return sorted(lines)
