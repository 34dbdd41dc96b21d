"""Reading an owner's whole set page by page, verified before anything of it is used (P14, P29).

1. The owner says first what the whole is: a snapshot, its count and its fingerprint.
2. Ids ascend through all pages, each page goes on exactly where the one before ended, and an empty page is
   the last. A page may be shorter than asked for: only its `next` tells the end.
3. Count and fingerprint of everything read are the announced ones, or nothing was read at all.
4. The fingerprint is the lower-case hex SHA-256 over the canonical encoding of every item, each followed
   by LF.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

PAGE_BYTES: Final = 1_000_000
"""All items of a page together. One that is larger is a page by itself, within the 2 MiB of a message."""


class Item(Protocol):
    """One thing of the set."""

    @property
    def id(self) -> UUID:
        """What the set is ordered by."""
        ...

    @property
    def canonical(self) -> bytes:
        """Its canonical encoding."""
        ...


T = TypeVar("T", bound=Item)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the owner says the whole set is. ``position`` counts the owner's changes."""

    snapshot: UUID
    position: int
    count: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items in ascending order; ``next`` is the last one's id, None on the last page."""

    items: Sequence[T]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class PagingLimits:
    """How much one set may be."""

    page: int = 500
    items: int = 1_000_000


class PagesDiffer(Exception):
    """What was read is not what was announced; nothing of it may be used."""


def fingerprint(items: Iterable[bytes]) -> str:
    """The fingerprint of canonical encodings in ascending order of their ids."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(item)
        digest.update(b"\n")
    return digest.hexdigest()


def page_length(sizes: Iterable[int], limit: int) -> int:
    """How many items of these sizes, in bytes, an owner's page holds: at most `limit` and `PAGE_BYTES`
    together, one at least.
    """
    count = total = 0
    for size in sizes:
        total += size
        if count == limit or (count and total > PAGE_BYTES):
            break
        count += 1
    return count


def read_whole(
    manifest: Manifest,
    read_page: Callable[[UUID | None, int], Page[T]],
    *,
    limits: PagingLimits = PagingLimits(),
) -> list[T]:
    """Every item of the announced set, or ``PagesDiffer``. Errors of ``read_page`` pass through."""
    if manifest.count > limits.items:
        raise PagesDiffer(f"{manifest.count} items are announced; at most {limits.items} are read")
    items: list[T] = []
    after: UUID | None = None
    while True:
        page = read_page(after, limits.page)
        last = after
        for item in page.items:
            if last is not None and item.id <= last:
                raise PagesDiffer("the ids of the items do not ascend")
            last = item.id
        items += page.items
        if len(items) > manifest.count:
            raise PagesDiffer(f"more than the {manifest.count} announced items came")
        if page.next is None:
            break
        if page.next != last or not page.items:
            raise PagesDiffer("a page does not end where the next one begins")
        after = page.next
    if len(items) != manifest.count:
        raise PagesDiffer(f"{len(items)} items came, {manifest.count} were announced")
    if fingerprint(item.canonical for item in items) != manifest.fingerprint:
        raise PagesDiffer("the fingerprint of what came is not the announced one")
    return items
