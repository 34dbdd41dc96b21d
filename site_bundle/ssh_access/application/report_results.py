"""Report what became of each key: one durable report at a time, the same bytes until central's receipt is
in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.ssh_access.domain.desired import Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """One key's line in a report."""

    change_id: UUID
    sequence: int
    key_id: UUID
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """A prepared report: its body is never made again. `changes`: the changes it speaks of, in its order."""

    report_id: UUID
    body: bytes
    changes: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """central's word on one result: recorded, unchanged, stale (a later change exists) or unknown."""

    change_id: UUID
    outcome: str


class ResultsApi(Protocol):
    """Sends a report: one receipt a result, in its order."""

    def send(self, report: Report) -> tuple[Receipt, ...]: ...


class ReportJournal(Protocol):
    """The outbox."""

    def open_report(self) -> Report | None: ...

    def unreported(self, limit: int) -> tuple[datetime, tuple[Result, ...]] | None:
        """Results of the oldest pass that has any central did not get, and when its reads began."""

    def keep_report(self, report: Report, results: Sequence[Result], now: datetime) -> None: ...

    def close_report(self, receipts: Sequence[Receipt]) -> None:
        """Ends the open report. A `stale` result is decided anew: a later change, or a clock that went
        back.
        """

    def drop_report(self) -> None: ...

    def decide_anew(self, now: datetime) -> None:
        """Ends the open report; its results, and all that are dated after `now`, are decided anew."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A report central has, and its word on each result."""

    report_id: UUID
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class ReportResults:
    """Sends the open report, or makes one of what was not reported yet."""

    api: ResultsApi
    journal: ReportJournal
    encode: Callable[[UUID, datetime, Sequence[Result]], bytes]
    new_id: Callable[[], UUID]
    batch_results: int
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, *, now: datetime) -> Reported | None:
        """One report; None when there is nothing to report. Raises what the API raises."""
        report = self.journal.open_report() or self._prepare(now)
        if report is None:
            return None
        receipts = self.api.send(report)
        self.checkpoint("report-sent")
        self.journal.close_report(receipts)
        self.checkpoint("receipts-journalled")
        return Reported(report.report_id, receipts)

    def give_up(self) -> None:
        """central refused this report for good: the next one is made afresh from the record."""
        self.journal.drop_report()

    def decide_anew(self, *, now: datetime) -> None:
        """central says the report's time has not come: this clock is, or was, ahead. Another report of the
        same reads would bear the same time, so they are made again.
        """
        self.journal.decide_anew(now)

    def _prepare(self, now: datetime) -> Report | None:
        waiting = self.journal.unreported(self.batch_results)
        if waiting is None:
            return None
        observed_at, results = waiting
        report_id = self.new_id()
        changes = tuple(result.change_id for result in results)
        report = Report(report_id, self.encode(report_id, observed_at, results), changes)
        self.journal.keep_report(report, results, now)
        self.checkpoint("report-journalled")
        return report
