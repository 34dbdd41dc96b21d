"""What a Site reads: its changes in order (ledger E3).

Sequences are gapless per Site in the order they were committed. A change that a later one of the same key
replaced is not listed, so `after=0` is the whole desired state.
"""

from dataclasses import dataclass
from uuid import UUID

from central.kernel.site_feed import FeedPage, cut
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


ChangePage = FeedPage[Change]
"""A part of the feed of changes."""


def page(feed: UUID, head: int, after: int, limit: int, found: tuple[Change, ...]) -> ChangePage:
    """See `cut`."""
    return cut((feed, head), after, limit, found, lambda change: change.sequence)
