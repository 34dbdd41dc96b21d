"""Read the next page of commands, or those not acknowledged, and journal it before anything is done about
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from site_bundle.runtime.application.ports import CommandsApi, Journal, Recorded
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.feed import Page, PositionUnknownError, follows

LIMIT = 100


@dataclass(frozen=True, slots=True)
class Polled:
    """`added`: new commands. `switched`: another history answered; `rewound`: because it did not know our
    position. `refused`: commands of another form than this version's, those not refused
    before. `aside`: cancels and cleanups central does not ask for any more.
    """

    added: int
    more: bool
    switched: bool = False
    rewound: bool = False
    refused: tuple[UUID, ...] = ()
    aside: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class PollCommands:
    """Raises what the API raises, and FeedBrokenError; then nothing was recorded."""

    api: CommandsApi
    journal: Journal
    words: Words
    observe: bool = False

    def walk(self, *, now: datetime) -> Polled:
        """All commands central has no acknowledgement of: at start, and when one ran out of its validity."""
        after, added = 0, 0
        refused: tuple[UUID, ...] = ()
        listed: set[UUID] = set()
        while True:
            page = self.api.unacknowledged(after=after, limit=LIMIT)
            if not self._is_known(page, after):
                return Polled(added, True, switched=True, refused=refused)
            recorded = self._record(page, advance=False, now=now)
            added, refused = added + recorded.added, refused + recorded.refused
            listed |= {one.command_id for one in page.commands} | {one.command_id for one in page.foreign}
            if not page.more:
                return Polled(added, False, refused=refused, aside=self._set_aside(listed, now))
            after = page.reach

    def _set_aside(self, listed: set[UUID], now: datetime) -> tuple[UUID, ...]:
        """Past its validity, and not among all that central has no answer to: it was settled there (E3). Of
        another history than the accepted one nothing follows.
        """
        if not self.journal.feed_state().may_begin:
            return ()
        over = tuple(
            closing.command.command_id
            for closing in self.journal.closings()
            if now > closing.command.valid_until and closing.command.command_id not in listed
        )
        for command_id in over:
            self.journal.close(command_id)
        return over

    def run(self, *, wait: int, now: datetime) -> Polled:
        """One long poll from the journal's highest sequence."""
        state = self.journal.feed_state()
        try:
            page = self.api.commands(after=state.cursor, wait=wait, limit=LIMIT)
        except PositionUnknownError:
            self.journal.switch_feed(None)
            return Polled(0, True, switched=True, rewound=True)
        if not self._is_known(page, state.cursor):
            return Polled(0, True, switched=True)
        # An unchanged answer writes nothing: a parked poll costs no disk.
        if (
            not page.commands
            and not page.foreign
            and page.reach == state.cursor
            and page.feed == state.current
        ):
            return Polled(0, page.more)
        recorded = self._record(page, advance=True, now=now)
        return Polled(recorded.added, page.more, refused=recorded.refused)

    def _record(self, page: Page, *, advance: bool, now: datetime) -> Recorded:
        """What cannot be understood is refused in the transaction that passes it; observing, it is passed
        alone, and listed again at the next start.
        """
        refusals = [] if self.observe else [self.words.not_understood(one, now) for one in page.foreign]
        return self.journal.record_page(page, *refusals, advance=advance, now=now)

    def _is_known(self, page: Page, after: int) -> bool:
        if follows(self.journal.feed_state(), page, after=after):
            return True
        self.journal.switch_feed(page.feed)
        return False
