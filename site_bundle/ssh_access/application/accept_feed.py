"""An operator accepts central's new history: from now on removals are taken from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import RefusedError
from site_bundle.ssh_access.domain.feed import FeedState


class AcceptanceJournal(Protocol):
    """The journal's part in it."""

    def feed_state(self) -> FeedState: ...

    def unlisted_count(self) -> int: ...

    def accept_feed(self, feed: UUID) -> bool: ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """`unlisted`: keys of the earlier history that the accepted one does not list; they are removed next."""

    feed: UUID
    unlisted: int


@dataclass(frozen=True, slots=True)
class AcceptFeed:
    """Accepts exactly `feed`. RefusedError when another one is being read, or it was not read to its end."""

    journal: AcceptanceJournal

    def run(self, feed: UUID) -> Accepted:
        state = self.journal.feed_state()
        if state.current != feed:
            raise RefusedError(
                "feed_not_current",
                found=f"central's history is now {state.current}",
                wanted=f"{feed}",
                remedy="look at pharos-ssh-access status and accept the history it names",
            )
        unlisted = self.journal.unlisted_count()
        if not self.journal.accept_feed(feed):
            raise RefusedError(
                "feed_incomplete",
                found="the new history was not read to its end yet",
                wanted="its complete desired state, so that it is known what would be removed",
                remedy="wait until status shows it complete, then accept again",
            )
        return Accepted(feed=feed, unlisted=unlisted)
