"""What a Site reads in order: a history with an identity, cut into pages (E3). Pure.

Sequences are gapless per Site in the order they were committed. Another identity, or a position above the
head, is another history: who followed the former one stops and says so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from uuid import UUID

from central.kernel.site_names import Site

T = TypeVar("T")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class FeedPage(Generic[T]):
    """A part of a feed: every listed entry above `after` up to and including `next`."""

    feed: UUID
    after: int
    entries: tuple[T, ...]
    next: int
    more: bool


@dataclass(frozen=True, slots=True)
class FeedHead:
    """A Site's history: its identity and its last sequence."""

    site: Site
    feed: UUID
    head: int


class FeedUnknown(Exception):
    """This Site has no such feed: nothing was ever in it and nobody ever asked."""


class PositionUnknown(Exception):
    """Somebody read further than this history goes: it was restored to an earlier time."""

    def __init__(self, feed: UUID, head: int, after: int) -> None:
        super().__init__(f"the feed ends at {head}, {after} was named")
        self.feed = feed
        self.head = head


def cut(
    at: tuple[UUID, int], after: int, limit: int, found: tuple[T, ...], sequence: Callable[[T], int]
) -> FeedPage[T]:
    """Cuts `found`, the first `limit + 1` entries above `after`; `at` is the feed and its last sequence.

    Raises `PositionUnknown` for an `after` above it: the sequences between will name other entries.
    """
    feed, head = at
    if after > head:
        raise PositionUnknown(feed, head, after)
    entries = found[:limit]
    more = len(found) > limit
    covered = sequence(entries[-1]) if more else head
    return FeedPage(feed=feed, after=after, entries=entries, next=covered, more=more)


PAGE_BYTES: Final = 524_288
"""From here on a page ends: with one more entry, 256 KiB at most, it is within the 1 MiB a Site reads. What
members wrote is in the entries, so that their number alone bounds nothing.
"""


def fitting(
    page: FeedPage[T], bodies: Iterable[B], *, size: Callable[[B], int], sequence: Callable[[B], int]
) -> tuple[list[B], int, bool]:
    """The bodies of a page as far as they fit in, the last sequence covered, and whether more follow."""
    taken: list[B] = []
    total = 0
    for body in bodies:
        if total >= PAGE_BYTES:
            return taken, sequence(taken[-1]), True
        taken.append(body)
        total += size(body)
    return taken, page.next, page.more


def first_page(read: Callable[[], FeedPage[T]], wait: Callable[[], bool]) -> FeedPage[T]:
    """The first page that holds an entry, or the empty one that stands when `wait` answers False (X13).

    `wait` parks the caller until something may have changed (True) or the time is over (False), and raises
    when the caller may not wait any longer. Nothing is held while it waits.
    """
    while True:
        page = read()
        if page.entries or not wait():
            return page


def never() -> bool:
    """A `wait` for who does not."""
    return False
