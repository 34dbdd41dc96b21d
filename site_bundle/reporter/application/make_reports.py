"""From a decision to reports: ids, exact bytes, and no more in one than central takes (P12, P21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.accounts import Account
from site_bundle.reporter.domain.allocation import allocation_id
from site_bundle.reporter.domain.decide import Decision, ResourceReport

RESOURCES = "resources"
REPORTS, ACCOUNTS = "reports", "accounts"
EncodeReport = Callable[[UUID, datetime, UUID, Sequence[ResourceReport]], bytes]
EncodeAccounts = Callable[[UUID, datetime, UUID, Sequence[Account]], bytes]


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """What central takes in one body."""

    resources: int = 1000
    report_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MakeReports:
    """Resource reports first: central learns of an allocation before it hears of its accounts."""

    instance: str
    offering_id: UUID
    new_id: Callable[[], UUID]
    encode_report: EncodeReport
    encode_accounts: EncodeAccounts
    limits: ReportLimits

    def run(self, decision: Decision, *, observed_at: datetime) -> list[Report]:
        """Every report of a pass; a Site without resources says so."""
        reports = self._resources(decision.resources, observed_at)
        for found in decision.sets:
            allocation = allocation_id(self.instance, found.resource_id)
            report_id = self.new_id()
            body = self.encode_accounts(report_id, observed_at, allocation, found.decided.accounts)
            reports.append(Report(report_id, ACCOUNTS, f"accounts/{allocation}", observed_at, body))
        return reports

    def _resources(self, resources: Sequence[ResourceReport], observed_at: datetime) -> list[Report]:
        report_id = self.new_id()
        body = b""
        if len(resources) <= self.limits.resources:
            body = self.encode_report(report_id, observed_at, self.offering_id, resources)
            if len(body) <= self.limits.report_bytes or len(resources) <= 1:
                return [Report(report_id, REPORTS, RESOURCES, observed_at, body)]
        middle = len(resources) // 2
        halves = resources[:middle], resources[middle:]
        return [report for half in halves for report in self._resources(half, observed_at)]
