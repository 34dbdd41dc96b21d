"""Everything the running agent says: log lines, health, status and metrics files, the service manager."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.health import Check, Health, Status
from site_bundle.kernel.logs import Log
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.voice import StatusSink, Voice
from site_bundle.ssh_access.application.accept_feed import Accepted
from site_bundle.ssh_access.application.poll_changes import Polled
from site_bundle.ssh_access.application.report_results import Reported
from site_bundle.ssh_access.domain.desired import DesiredKey, Outcome, Verdict
from site_bundle.ssh_access.domain.feed import FeedState
from site_bundle.ssh_access.domain.plan import Operation
from site_bundle.ssh_access.entrypoints.status_document import Telemetry, agent_metrics, status_document


class StatusJournal(Protocol):
    """What the journal says for the status."""

    def feed_state(self) -> FeedState: ...

    def counts(self) -> dict[str, int]: ...

    def oldest_unsettled_removal(self) -> datetime | None: ...


class Telling(Voice):
    """The port Events, and the agent's voice. Logs name keys by id, never people."""

    def __init__(
        self,
        *,
        log: Log,
        health: Health,
        telemetry: Telemetry,
        files: StatusSink,
        notifier: Notifier,
        journal: StatusJournal,
        cache_seconds: int,
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
        self._journal = journal
        self._cache_seconds = cache_seconds

    # Events of a pass.

    def operation(self, operation: Operation, result: str, *, drift: bool) -> None:
        change = operation.change.value
        self._telemetry.count_operation(change, result)
        self._telemetry.drift += drift and result == "done"
        write = self._log.info if result in {"done", "was_so", "would"} else self._log.warning
        write("directory_change", change=change, result=result, key=operation.key_id, drift=drift or None)

    def verdict(self, key: DesiredKey, verdict: Verdict) -> None:
        fields: dict[str, object] = {"key": key.key_id, "change": key.change_id, "act": key.act.value}
        if verdict.outcome is Outcome.REMOVED:
            # Removed from the directory is not "login impossible" while sssd may cache (S7).
            fields["cached_seconds"] = self._cache_seconds
        write = self._log.warning if verdict.outcome is Outcome.REFUSED else self._log.info
        write("key_decided", outcome=verdict.outcome.value, code=verdict.code, **fields)

    # Turns.

    def polled(self, polled: Polled, state: FeedState, now: datetime) -> None:
        self._telemetry.last_poll_at = now
        self.passed("site_api", "answers")
        self.show(_feed_check(state))
        if polled.switched:
            event = "feed_rewound" if polled.rewound else "feed_switched"
            self._log.warning(event, feed=state.current, accepted=state.accepted)
        if polled.changes or polled.unlisted:
            self._log.info(
                "changes_journalled", changes=polled.changes, unlisted=polled.unlisted, cursor=state.cursor
            )

    def reported(self, reported: Reported, now: datetime) -> None:
        self._telemetry.last_report_at = now
        self.passed("reports", "central has the results")
        numbers: dict[str, int] = {}
        for receipt in reported.receipts:
            numbers[receipt.outcome] = numbers.get(receipt.outcome, 0) + 1
        write = self._log.warning if numbers.keys() & {"unknown", "stale"} else self._log.info
        write("report_received", report=reported.report_id, **numbers)

    def reconciled(self, now: datetime) -> None:
        self._telemetry.last_reconcile_at = now

    def accepted(self, accepted: Accepted) -> None:
        self._log.notice("feed_accepted", feed=accepted.feed, unlisted=accepted.unlisted)

    # The files.

    def documents(self, now: datetime) -> tuple[dict[str, Any], list[Metric]]:
        document = status_document(
            self._telemetry,
            self._health,
            feed=self._feed(),
            keys=self._keys(),
            extra=self._removals(now),
            now=now,
        )
        return document, agent_metrics(self._telemetry, self._health, document)

    def _feed(self) -> dict[str, Any]:
        try:
            state = self._journal.feed_state()
        except SiteError:
            return {"accepted": None, "current": None, "complete": False, "sequence": 0}
        return {
            "accepted": str(state.accepted) if state.accepted else None,
            "current": str(state.current) if state.current else None,
            "complete": state.complete,
            "sequence": state.cursor,
        }

    def _keys(self) -> dict[str, int]:
        try:
            return self._journal.counts()
        except SiteError:
            return {}

    def _removals(self, now: datetime) -> dict[str, Any]:
        try:
            since = self._journal.oldest_unsettled_removal()
        except SiteError:
            since = None
        waiting = max(0, int((now - since).total_seconds())) if since is not None else 0
        return {
            "removalWaitingSeconds": waiting,
            "removalCacheSeconds": self._cache_seconds,
        }


def _feed_check(state: FeedState) -> Check:
    """The feed's own check: another history is a fault somebody must decide on."""
    feed = state.current
    wanted = "the accepted history"
    if state.removals_allowed:
        return Check("feed", Status.PASS, f"history {feed}", wanted)
    reading = "" if state.complete else " (still being read)"
    if state.rewound:
        found = f"central did not know a position it gave out: its history {feed or '(none yet)'} was rewound"
        code = "feed_position_unknown"
    else:
        found = f"central's history is now {feed}, not the accepted one"
        code = "feed_not_accepted"
    remedy = (
        f"if central was restored or rebuilt: pharos-ssh-access accept-feed {feed or 'FEED, once it is read'}"
    )
    return Check("feed", Status.FAIL, f"{found}; nothing is removed{reading}", wanted, remedy, code)
