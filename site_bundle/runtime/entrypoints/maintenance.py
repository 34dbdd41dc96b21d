"""What an administrator asks of the running Runtime: drain, take work again, accept another history (S15,
E3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.requests import RequestUnreadableError
from site_bundle.runtime.application.ports import CommandsApi, DrainRequest
from site_bundle.runtime.application.ports import Journal as CommandJournal
from site_bundle.runtime.entrypoints.telling import REQUESTS, WORDS, Telling


class MaintenanceJournal(CommandJournal, Protocol):
    """Also accepts a history."""

    def accept_feed(self, feed: UUID) -> bool: ...


class Requests(Protocol):
    """What was asked and is not journalled yet. RequestUnreadableError."""

    def drain(self) -> DrainRequest | None: ...

    def drain_done(self) -> None: ...

    def acceptance(self) -> UUID | None: ...

    def acceptance_done(self) -> None: ...


class EncodeStatement(Protocol):
    def __call__(
        self, statement_id: UUID, now: datetime, *, draining: bool, until: datetime | None, reason: str | None
    ) -> bytes: ...


@dataclass(slots=True)
class Maintenance:
    """Takes the requests, journals them, and tells central until it has it."""

    api: CommandsApi
    journal: MaintenanceJournal
    telling: Telling
    encode: EncodeStatement
    new_id: Callable[[], UUID]
    requests: Requests
    retry_seconds: float
    monotonic: Callable[[], float]
    due: float = 0.0

    def take(self, *, now: datetime) -> None:
        """Nothing, mostly. What cannot be read is said, and keeps nothing else."""
        unreadable = None
        for take in (self._accept, partial(self._drain, now)):
            try:
                take()
            except RequestUnreadableError as error:
                unreadable = error
        if unreadable is None:
            self.telling.requests_read()
        else:
            self.telling.failed(REQUESTS, unreadable)
        if self.monotonic() >= self.due:
            self._tell()

    def _accept(self) -> None:
        """An acceptance of a history central does not answer with stands until it does."""
        feed = self.requests.acceptance()
        if feed is not None and self.journal.accept_feed(feed):
            self.requests.acceptance_done()
            self.telling.accepted(feed)

    def _drain(self, now: datetime) -> None:
        asked = self.requests.drain()
        if asked is None:
            return
        body = self.encode(
            self.new_id(), now, draining=asked.draining, until=asked.until, reason=asked.reason
        )
        self.journal.put_statement(body, draining=asked.draining)
        self.requests.drain_done()
        self.telling.drained(draining=asked.draining)
        self.due = 0.0

    def _tell(self) -> None:
        body = self.journal.open_statement()
        if body is None:
            return
        try:
            self.api.state_maintenance(body)
        except SiteError as error:
            self.telling.failed(WORDS, error)
            self.due = self.monotonic() + self.retry_seconds
        else:
            self.journal.close_statement()
