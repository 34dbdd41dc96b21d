"""What a Site reads: its changes in order (ledger E3).

Sequences are gapless per Site in the order they were committed. A change that a later one of the same key
replaced is not listed, so `after=0` is the whole desired state.
"""

from dataclasses import dataclass
from uuid import UUID

from central.kernel.site_names import Site
from central.ssh_access.domain.member_key import Act, Target
from central.ssh_access.domain.public_key import PublicKey


@dataclass(frozen=True, slots=True)
class Change:
    """One listed change."""

    sequence: int
    change_id: UUID
    act: Act
    key_id: UUID
    public_key: PublicKey
    target: Target


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A part of the feed: every listed change above `after` up to and including `next`."""

    feed: UUID
    after: int
    changes: tuple[Change, ...]
    next: int
    more: bool


@dataclass(frozen=True, slots=True)
class FeedHead:
    """A Site's history: its identity and its last sequence."""

    site: Site
    feed: UUID
    head: int


class PositionUnknown(Exception):
    """Somebody read further than this history goes: it was restored to an earlier time."""

    def __init__(self, feed: UUID, head: int, after: int) -> None:
        super().__init__(f"the feed ends at {head}, {after} was named")
        self.feed = feed
        self.head = head


def page(feed: UUID, head: int, after: int, limit: int, found: tuple[Change, ...]) -> ChangePage:
    """Cuts `found`, the first `limit + 1` listed changes above `after`; `head` is the last sequence.

    Raises `PositionUnknown` for an `after` above it: the sequences between will name other changes.
    """
    if after > head:
        raise PositionUnknown(feed, head, after)
    changes = found[:limit]
    more = len(found) > limit
    covered = changes[-1].sequence if more else head
    return ChangePage(feed=feed, after=after, changes=changes, next=covered, more=more)
