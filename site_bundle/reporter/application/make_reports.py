"""From a decision to reports: ids, exact bytes, and no more in one than central takes (P12, P21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.accounts import Account
from site_bundle.reporter.domain.allocation import allocation_id
from site_bundle.reporter.domain.decide import AccountSet, Decision, ResourceReport

RESOURCES = "resources"
REPORTS, ACCOUNT_SETS, ACCOUNTS = "reports", "account-sets", "accounts"
EncodeReport = Callable[[UUID, datetime, UUID, Sequence[ResourceReport]], bytes]


class EncodeSets(Protocol):
    """Bodies of complete sets. `one` is a set by itself; `few` and `alone` are reports, of several sets as
    `one` has them and of one.
    """

    def one(self, allocation: UUID, accounts: Sequence[Account]) -> bytes: ...

    def few(self, report_id: UUID, observed_at: datetime, sets: Sequence[bytes]) -> bytes: ...

    def alone(
        self, report_id: UUID, observed_at: datetime, allocation: UUID, accounts: Sequence[Account]
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """What central takes in one body: items, bytes, and what of them a report needs beside its sets."""

    resources: int = 1000
    sets: int = 1000
    report_bytes: int = 1024 * 1024
    frame_bytes: int = 256


@dataclass(frozen=True, slots=True)
class MakeReports:
    """Resource reports first: central learns of an allocation before it hears of its accounts."""

    instance: str
    offering_id: UUID
    new_id: Callable[[], UUID]
    encode_report: EncodeReport
    encode_sets: EncodeSets
    limits: ReportLimits

    def run(self, decision: Decision, *, observed_at: datetime) -> list[Report]:
        """Every report of a pass; a Site without resources says so."""
        reports = self._resources(decision.resources, observed_at)
        reports += self._sets(decision.sets, observed_at)
        return reports

    def _sets(self, sets: Sequence[AccountSet], observed_at: datetime) -> Iterator[Report]:
        """As few reports as take all sets; one that is too large for company goes alone."""
        subjects: list[str] = []
        bodies: list[bytes] = []
        size, room = 0, self.limits.report_bytes - self.limits.frame_bytes
        for found in sets:
            allocation = allocation_id(self.instance, found.resource_id)
            accounts = found.decided.accounts
            body = self.encode_sets.one(allocation, accounts)
            if len(body) > room:
                yield self._alone(allocation, accounts, observed_at)
                continue
            if bodies and (len(bodies) == self.limits.sets or size + len(body) > room):
                yield self._few(subjects, bodies, observed_at)
                subjects, bodies, size = [], [], 0
            size += len(body) + 1
            subjects.append(subject_of(allocation))
            bodies.append(body)
        if bodies:
            yield self._few(subjects, bodies, observed_at)

    def _few(self, subjects: Sequence[str], bodies: Sequence[bytes], observed_at: datetime) -> Report:
        report_id = self.new_id()
        body = self.encode_sets.few(report_id, observed_at, bodies)
        return Report(report_id, ACCOUNT_SETS, tuple(subjects), observed_at, body)

    def _alone(self, allocation: UUID, accounts: Sequence[Account], observed_at: datetime) -> Report:
        report_id = self.new_id()
        body = self.encode_sets.alone(report_id, observed_at, allocation, accounts)
        return Report(report_id, ACCOUNTS, (subject_of(allocation),), observed_at, body)

    def _resources(self, resources: Sequence[ResourceReport], observed_at: datetime) -> list[Report]:
        report_id = self.new_id()
        body = b""
        if len(resources) <= self.limits.resources:
            body = self.encode_report(report_id, observed_at, self.offering_id, resources)
            if len(body) <= self.limits.report_bytes or len(resources) <= 1:
                return [Report(report_id, REPORTS, (RESOURCES,), observed_at, body)]
        middle = len(resources) // 2
        halves = resources[:middle], resources[middle:]
        return [report for half in halves for report in self._resources(half, observed_at)]


def subject_of(allocation: UUID) -> str:
    """What a report of the allocation's accounts speaks of."""
    return f"accounts/{allocation}"
