"""What an administrator asks of the running Runtime: drain, take work again, accept another history (S15,
E3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import SiteError
from site_bundle.runtime.application.ports import CommandsApi, DrainRequest
from site_bundle.runtime.application.ports import Journal as CommandJournal
from site_bundle.runtime.entrypoints.telling import WORDS, Telling


class MaintenanceJournal(CommandJournal, Protocol):
    """Also accepts a history."""

    def accept_feed(self, feed: UUID) -> bool: ...


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
    take_drain: Callable[[], DrainRequest | None]
    take_acceptance: Callable[[], UUID | None]
    retry_seconds: float
    monotonic: Callable[[], float]
    due: float = 0.0

    def take(self, *, now: datetime) -> None:
        """Nothing, mostly."""
        feed = self.take_acceptance()
        if feed is not None and self.journal.accept_feed(feed):
            self.telling.accepted(feed)
        asked = self.take_drain()
        if asked is not None:
            body = self.encode(
                self.new_id(), now, draining=asked.draining, until=asked.until, reason=asked.reason
            )
            self.journal.put_statement(body, draining=asked.draining)
            self.telling.drained(draining=asked.draining)
            self.due = 0.0
        if self.monotonic() >= self.due:
            self._tell()

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
