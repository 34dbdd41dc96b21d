"""Read the next page of the feed and record it durably, before anything is done about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.ssh_access.domain.feed import FeedState, Page, PositionUnknownError, follows


class ChangesFeed(Protocol):
    """The Site API's list of changes."""

    def read(self, *, after: int, wait: int, limit: int) -> Page:
        """PositionUnknownError when the history ends before `after`."""


class FeedJournal(Protocol):
    """Where the feed's state and the desired keys are kept; each call is one durable transaction."""

    def feed_state(self) -> FeedState: ...

    def record_page(self, page: Page, now: datetime) -> None: ...

    def restart_feed(self, feed: UUID) -> None: ...

    def rewind_feed(self) -> None:
        """No history is known any more: the next answer is another one, even under the accepted id."""

    def mark_unlisted(self, now: datetime) -> int: ...


@dataclass(frozen=True, slots=True)
class Polled:
    """What one poll brought. `switched`: another history answered and reading starts at its beginning;
    `rewound`: because central did not know our position.
    """

    changes: int
    more: bool
    switched: bool = False
    unlisted: int = 0
    rewound: bool = False


@dataclass(frozen=True, slots=True)
class PollChanges:
    """One poll. Raises what the feed raises, and FeedBrokenError; then nothing was recorded."""

    feed: ChangesFeed
    journal: FeedJournal
    page_limit: int

    def run(self, *, wait: int, now: datetime) -> Polled:
        state = self.journal.feed_state()
        try:
            page = self.feed.read(after=state.cursor, wait=wait, limit=self.page_limit)
        except PositionUnknownError:
            self.journal.rewind_feed()
            return Polled(changes=0, more=True, switched=True, rewound=True)
        if not follows(state, page):
            self.journal.restart_feed(page.feed)
            return Polled(changes=0, more=True, switched=True)
        # An unchanged answer writes nothing: a parked poll costs no disk.
        if page.changes or page.reach != state.cursor or page.feed != state.current or not state.complete:
            self.journal.record_page(page, now)
        unlisted = 0 if page.more else self.journal.mark_unlisted(now)
        return Polled(changes=len(page.changes), more=page.more, unlisted=unlisted)
