"""Sends what is in the outbox, oldest first, byte for byte until central answers (S8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import PeerRefusedError
from site_bundle.reporter.application.ports import Outbox, Report
from site_bundle.reporter.domain.verdict import Act, Rule, rule_of


@dataclass(frozen=True, slots=True)
class Answered:
    """Central's word on a report: when it received it, and how many of its parts fared how."""

    received_at: datetime
    outcomes: Counter[str]


class Intake(Protocol):
    """Sends one report. UnavailableError, or PeerRefusedError for a definite refusal."""

    def send(self, report: Report) -> Answered: ...


@dataclass(slots=True)
class Sent:
    """What a turn did. `error` ended it; `faults` are refusals somebody must look at."""

    reports: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[SiteError] = field(default_factory=list)
    error: SiteError | None = None
    received_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SendReports:
    """`split` makes the two halves of a report that is too large, with ids of their own; nothing for one
    that cannot be halved.
    """

    intake: Intake
    outbox: Outbox
    split: Callable[[Report], Sequence[Report]]
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)
    told: Callable[[], None] = field(default=lambda: None)

    def run(self, *, now: datetime) -> Sent:
        """Until the outbox is empty, or something says "later". SiteError of the journal alone."""
        sent = Sent()
        after, stopped = 0, False
        while not stopped and (report := self.outbox.next(after)) is not None:
            after = report.sequence
            if not report.tried:
                self.outbox.mark_tried(report, now)
            stopped = self._send(report, sent, now)
            self.told()
        return sent

    def _send(self, report: Report, sent: Sent, now: datetime) -> bool:
        """Deals with one report; True when nothing else is to be sent."""
        try:
            answered = self.intake.send(report)
        except PeerRefusedError as error:
            return self._refused(report, error, sent, now)
        except UnavailableError as error:
            sent.error = error
            return True
        self.checkpoint("report-sent")
        self.outbox.settle(report)
        self.checkpoint("receipt-journalled")
        sent.reports += 1
        sent.outcomes.update(answered.outcomes)
        sent.received_at = answered.received_at
        return False

    def _refused(self, report: Report, error: PeerRefusedError, sent: Sent, now: datetime) -> bool:
        """Deals with a definite refusal by its rule; True when nothing else is to be sent."""
        rule = rule_of(error.status, error.code, several=len(report.subjects) > 1)
        parts = self.split(report) if rule.act is Act.SPLIT else []
        if parts:
            self.outbox.split(report, parts, now)
        elif rule.act is not Act.KEEP:
            self.outbox.settle(report)
        sent.outcomes[error.code] += 1
        if rule.fault or self._unsplit(rule, parts):
            sent.faults.append(error)
        if rule.stop:
            sent.error = error
        return rule.stop

    @staticmethod
    def _unsplit(rule: Rule, parts: Sequence[Report]) -> bool:
        return rule.act is Act.SPLIT and not parts
