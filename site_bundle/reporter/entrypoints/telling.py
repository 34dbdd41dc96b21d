"""Everything the running reporter says: log lines, health, status and metrics files, the service manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.health import Check, Health, Status
from site_bundle.kernel.logs import Log
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.voice import StatusSink, Voice
from site_bundle.reporter.application.observe_site import Observed
from site_bundle.reporter.application.ports import Outbox
from site_bundle.reporter.application.send_reports import Sent
from site_bundle.reporter.domain.decide import EMPTY
from site_bundle.reporter.domain.presence import DOUBTS
from site_bundle.reporter.domain.usage import Compared
from site_bundle.reporter.entrypoints.status_document import (
    Telemetry,
    accounts,
    allocations,
    differences,
    reporter_metrics,
    status_document,
)

_CLOCK_OFF = timedelta(seconds=5)
JOURNAL, WALDUR, SLURM, DIRECTORY, MEMBERS = "journal", "waldur", "slurm", "directory", "members"
RETAINED, INTAKE, REPORTS, ALLOCATIONS, USAGE = "retained", "intake", "reports", "allocations", "usage"
# The words docs/wire.md gives an outcome of a resource that somebody must look at.
_BAD_OUTCOMES = {
    "account_name_invalid",
    "conflicting_report",
    "other_site",
    "binding_changed",
    "state_corrupt",
    "refused",
    "instance_differs",
}
_HIDDEN = Check(
    DIRECTORY,
    Status.FAIL,
    "nobody, or no group, is shown where accounts were proven before",
    "read access, so that no account can be told from a hidden one",
    "compare slapd's access rules with the proposed policy",
    EMPTY,
)


def needed_checks() -> tuple[str, ...]:
    """Checks that must pass once before the state is `ready`."""
    return (JOURNAL, WALDUR, SLURM, DIRECTORY, INTAKE)


class Telling(Voice):
    """The reporter's voice. Logs name allocations by id, never people."""

    def __init__(
        self,
        *,
        log: Log,
        health: Health,
        telemetry: Telemetry,
        files: StatusSink,
        notifier: Notifier,
        outbox: Outbox,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        super().__init__(
            log=log,
            health=health,
            told=telemetry,
            files=files,
            notifier=notifier,
            now=now,
            monotonic=monotonic,
        )
        self._telemetry = telemetry
        self._outbox = outbox

    # Turns.

    def pass_failed(self, check_id: str, error: SiteError) -> None:
        self._telemetry.passes["failed"] += 1
        self.failed(check_id, error)

    def observed(self, observed: Observed, *, seconds: float, commands: int) -> None:
        telemetry = self._telemetry
        telemetry.observed_at = observed.observed_at
        telemetry.allocations = allocations(observed)
        telemetry.accounts = accounts(observed)
        telemetry.differences = differences(observed)
        telemetry.pass_seconds, telemetry.pass_commands = seconds, commands
        telemetry.passes["whole" if not observed.failed else "partial"] += 1
        self.passed(WALDUR, "every page read")
        self.passed(SLURM, "associations, nodes and jobs read")
        self._source(DIRECTORY, observed.failed, "people and groups read")
        if any(fault.code == EMPTY for fault in observed.decision.faults):
            self.show(_HIDDEN)
        self._source(MEMBERS, observed.failed, "a list for each Project")
        self._source(RETAINED, observed.failed, "read", Status.WARN)
        self.show(_allocations(observed))
        for difference in observed.differences:
            telemetry.applied[difference.result] += 1
            write = (
                self._log.info if difference.result in {"applied", "would", "later"} else self._log.warning
            )
            write(
                "identity",
                result=difference.result,
                association=difference.act.association.id,
                binding=difference.act.identity.binding_id,
                generation=difference.act.identity.generation,
            )
        self._log.info(
            "pass",
            resources=len(observed.decision.resources),
            sets=len(observed.decision.sets),
            faults=len(observed.decision.faults),
            commands=commands,
        )

    def _source(
        self, check_id: str, failed: Mapping[str, SiteError], found: str, status: Status = Status.FAIL
    ) -> None:
        if check_id in failed:
            self.failed(check_id, failed[check_id], status)
        else:
            self.passed(check_id, found)

    def sent(self, sent: Sent) -> None:
        self._telemetry.outcomes.update(sent.outcomes)
        if sent.received_at is not None:
            self._telemetry.last_receipt_at = self._now()
        if sent.error is not None:
            self.failed(INTAKE, sent.error)
        elif sent.reports:
            self.show(_clock(sent, self._now()))
        for error in sent.faults[:1]:
            self.failed(REPORTS, error)
        bad = sorted(_BAD_OUTCOMES & sent.outcomes.keys())
        if not sent.faults and bad:
            self.show(_outcomes(bad))
        elif not sent.faults and sent.reports:
            self.passed(REPORTS, "central has them")
        if sent.reports or sent.outcomes:
            self._log.info("reports_sent", reports=sent.reports, **dict(sorted(sent.outcomes.items())))

    def compared(self, compared: Compared) -> None:
        self._telemetry.usage = compared
        self.show(_usage(compared))

    def documents(self, now: datetime) -> tuple[dict[str, Any], list[Metric]]:
        document = status_document(self._telemetry, self._health, outbox=self._waiting(), now=now)
        return document, reporter_metrics(self._telemetry, self._health, document)

    def _waiting(self) -> tuple[int, datetime | None] | None:
        try:
            return self._outbox.waiting()
        except SiteError:
            return None


def _allocations(observed: Observed) -> Check:
    """The allocations' own faults; those of a whole source have a check of their own."""
    found = [
        fault
        for fault in observed.decision.faults
        if fault.code not in {"directory_unavailable", "members_unavailable", EMPTY}
    ]
    if not found:
        return Check(ALLOCATIONS, Status.PASS, "each one decided")
    doubts = [fault for fault in found if fault.code in DOUBTS]
    if doubts:
        return Check(
            ALLOCATIONS,
            Status.FAIL,
            f"{len(doubts)} with a member whom the directory may only hide: {doubts[0].code}"
            f" (first: {doubts[0].resource})",
            "each entry and group shown to the agent, or proven absent",
            "pharos-reporter once names whom: let slapd's rules show the entry, or delete it; for what you"
            " know to be gone, pharos-reporter accept-absence",
            doubts[0].code,
        )
    codes = ", ".join(sorted({fault.code for fault in found}))
    return Check(
        ALLOCATIONS,
        Status.WARN,
        f"{len(found)} without a whole report: {codes} (first: {found[0].resource})",
        "every source of every allocation readable",
        "pharos-reporter once names each; docs/errors.md the codes",
        found[0].code,
    )


def _outcomes(bad: list[str]) -> Check:
    return Check(
        REPORTS,
        Status.FAIL,
        f"central refuses resources or sets of accounts: {', '.join(bad)}",
        "every one taken",
        "instance_differs: waldur.instance in the profile is not central's; else read central's log",
        bad[0],
    )


def _clock(sent: Sent, now: datetime) -> Check:
    """E14: central's time of receipt shows whether this clock is off."""
    off = abs(now - sent.received_at) if sent.received_at is not None else timedelta(0)
    if off > _CLOCK_OFF:
        seconds = int(off.total_seconds())
        return Check(
            INTAKE,
            Status.WARN,
            f"this clock and central's are {seconds} s apart",
            "5 s",
            "set it",
            "clock_off",
        )
    return Check(INTAKE, Status.PASS, "takes reports")


def _usage(compared: Compared) -> Check:
    wrong = len(compared.above) + len(compared.behind)
    if not wrong:
        return Check(USAGE, Status.PASS, f"{compared.number} allocations agree with Slurm's totals")
    first = (compared.above + compared.behind)[0]
    return Check(
        USAGE,
        Status.WARN,
        f"Waldur has more than Slurm for {len(compared.above)}, less for {len(compared.behind)}: {first} …",
        "the month's node-hours within 0.01 h",
        "compare sacct with the upstream agent's report mode",
        "usage_differs",
    )
