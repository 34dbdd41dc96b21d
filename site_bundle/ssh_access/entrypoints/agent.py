"""The agent's loop: poll, apply, report, reconcile, tell; each on its own schedule, one after the other.

1. What is due is done; then the long poll is the wait, cut short by whatever is due next. Nothing spins.
2. Each turn that fails says so in its check and waits by its own back-off; the others go on.
3. The watchdog is fed by finished steps only, so a loop that hangs is restarted.
4. SIGTERM ends a wait at once and anything else between two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.backoff import Backoff
from site_bundle.kernel.errors import RefusedError, SiteError, UnavailableError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.kernel.requests import RequestFile, RequestUnreadableError, look_for_feed
from site_bundle.kernel.site_api import SiteApiRefusedError, SiteApiUnavailableError
from site_bundle.kernel.stop import Stop, StopRequested
from site_bundle.ssh_access.application.accept_feed import AcceptanceJournal, AcceptFeed
from site_bundle.ssh_access.application.apply_changes import ApplyChanges
from site_bundle.ssh_access.application.check_self import DirectoryProbe, PeopleProbe
from site_bundle.ssh_access.application.poll_changes import PollChanges
from site_bundle.ssh_access.application.report_results import Reported, ReportResults
from site_bundle.ssh_access.domain.feed import FeedBrokenError
from site_bundle.ssh_access.domain.plan import Policy
from site_bundle.ssh_access.entrypoints.telling import Telling

# A report refused with one of these will not be accepted by sending it again; a new one is made.
_REPORT_IS_WRONG = {400, 409, 413, 422}
FEED, JOURNAL, SITE_API, DIRECTORY, RIGHTS, REPORTS = (
    "feed",
    "journal",
    "site_api",
    "directory",
    "directory_rights",
    "reports",
)


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Seconds and counts."""

    page_changes: int = 500
    wait_seconds: int = 50
    batch_targets: int = 200
    batch_results: int = 500
    reconcile_seconds: float = 60.0
    reconcile_share: float = 0.05  # of the time at most, however large the directory is
    rights_seconds: float = 900.0
    least_poll_seconds: float = 1.0  # between two polls that brought nothing
    longest_sleep_seconds: float = 30.0
    first_retry_seconds: float = 1.0
    directory_retry_seconds: float = 30.0
    central_retry_seconds: float = 60.0
    refused_retry_seconds: float = 300.0


class Directory(DirectoryProbe, Protocol):
    """The connection to the directory."""

    def close(self) -> None: ...


class AgentJournal(AcceptanceJournal, Protocol):
    """Whether there is work."""

    def has_unsettled(self) -> bool: ...

    def has_unreported(self) -> bool: ...


@dataclass(slots=True)
class Due:
    """When each turn is due, in monotonic seconds."""

    poll: float = 0.0
    directory: float = 0.0
    reconcile: float = 0.0
    rights: float = 0.0
    report: float = 0.0


class Agent:
    """One process. `run` returns after an orderly stop."""

    def __init__(
        self,
        *,
        connection: Directory,
        people: PeopleProbe,
        journal: AgentJournal,
        poll: PollChanges,
        apply: ApplyChanges,
        report: ReportResults,
        telling: Telling,
        stop: Stop,
        uids: NumberRange,
        acceptance: RequestFile,
        limits: AgentLimits,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._connection = connection
        self._people = people
        self._journal = journal
        self._poll = poll
        self._apply = apply
        self._report = report
        self._telling = telling
        self._stop = stop
        self._uids = uids
        self._acceptance = acceptance
        self._limits = limits
        self._now = now
        self._monotonic = monotonic
        self._due = Due()
        self._polled = False
        first = limits.first_retry_seconds
        self._directory_backoff = Backoff(first, limits.directory_retry_seconds, draw)
        self._poll_backoff = Backoff(first, limits.central_retry_seconds, draw)
        self._report_backoff = Backoff(first, limits.central_retry_seconds, draw)
        self._journal_backoff = Backoff(first, limits.central_retry_seconds, draw)

    def run(self) -> None:
        """Until SIGTERM. READY is sent after the journal is open and the first bind was tried (I06)."""
        try:
            self._telling.passed(JOURNAL, "open and intact")
            self._directory_turn()
            self._telling.ready()
            while True:
                self._stop.check()
                self._cycle()
        except StopRequested:
            self._telling.stopping()
        finally:
            self._connection.close()

    def _cycle(self) -> None:
        try:
            self._take_acceptance()
            moment = self._monotonic()
            if moment >= self._due.directory and (self._journal.has_unsettled() or self._upkeep_due(moment)):
                self._directory_turn()
            if self._monotonic() >= self._due.report and self._journal.has_unreported():
                self._report_turn()
            self._telling.publish()
            self._poll_or_wait()
            self._journal_backoff.succeeded()
            self._telling.passed(JOURNAL, "open and intact")
        except UnavailableError as error:
            # Turns keep their own faults; what comes here is the journal's.
            self._telling.failed(JOURNAL, error)
            self._telling.publish()
            self._stop.sleep(self._journal_backoff.failed())

    def _upkeep_due(self, moment: float) -> bool:
        return moment >= min(self._due.reconcile, self._due.rights)

    # The directory.

    def _directory_turn(self) -> None:
        moment = self._monotonic()
        try:
            if self._connection.ensure_bound():
                # Whatever happened while the directory was away is looked at anew.
                self._due.reconcile = self._due.rights = moment
            self._telling.passed(DIRECTORY, "bound, identity verified")
            self._prove_rights(moment)
            pending = self._apply_due(moment)
        except SiteError as error:
            if error.code.startswith("journal_"):
                raise
            check = RIGHTS if error.code == "directory_rights" else DIRECTORY
            self._telling.failed(check, error)
            self._due.directory = moment + self._directory_backoff.failed()
            self._apply.defer(error.code, now=self._now())
            return
        if pending:
            self._due.directory = moment + self._directory_backoff.failed()
        else:
            self._directory_backoff.succeeded()

    def _prove_rights(self, moment: float) -> None:
        if moment < self._due.rights:
            return
        if not self._apply.observe:
            self._people.prove_rights()
        self._telling.passed(
            RIGHTS, "not tried in observe mode" if self._apply.observe else "proven on the probe entry"
        )
        self._due.rights = moment + self._limits.rights_seconds

    def _apply_due(self, moment: float) -> int:
        """One pass; the number of keys that are still pending."""
        allowed = self._journal.feed_state().removals_allowed
        policy = Policy(uids=self._uids, removals=allowed)
        reconcile = moment >= self._due.reconcile
        done = self._apply.run(policy=policy, now=self._now(), reconcile=reconcile)
        if reconcile:
            ended = self._monotonic()
            pause = max(self._limits.reconcile_seconds, (ended - moment) / self._limits.reconcile_share)
            self._due.reconcile = ended + pause
            self._telling.reconciled(self._now())
        return done.pending

    # Reports.

    def _report_turn(self) -> None:
        try:
            reported = self._report.run(now=self._now())
        except SiteApiRefusedError as error:
            self._telling.failed(REPORTS, error)
            self._report_refused(error)
        except SiteError as error:
            if error.code.startswith("journal_"):
                raise
            self._telling.failed(REPORTS, error)
            wait = self._report_backoff.failed(at_least=_asked_for(error))
            self._due.report = self._monotonic() + wait
        else:
            if reported is not None:
                self._reported(reported)

    def _report_refused(self, error: SiteApiRefusedError) -> None:
        wait = self._limits.refused_retry_seconds
        if error.code == "observed_in_future":
            # Right again as soon as the clock is: not as hopeless as a report central cannot take.
            self._report.decide_anew(now=self._now())
            wait = self._report_backoff.failed()
        elif error.status in _REPORT_IS_WRONG:
            self._report.give_up()
        self._due.report = self._monotonic() + wait

    def _reported(self, reported: Reported) -> None:
        self._telling.reported(reported, self._now())
        if any(receipt.outcome == "stale" for receipt in reported.receipts):
            # Decided anew and reported again, but never in a tight circle.
            self._due.report = self._monotonic() + self._report_backoff.failed()
        else:
            self._report_backoff.succeeded()

    # The feed.

    def _take_acceptance(self) -> None:
        try:
            feed = look_for_feed(self._acceptance)
            if feed is not None:
                self._accept(feed)
                self._acceptance.done()
        except RequestUnreadableError as error:
            self._telling.failed(FEED, error)

    def _accept(self, feed: UUID) -> None:
        try:
            accepted = AcceptFeed(self._journal).run(feed)
        except RefusedError as error:
            self._telling.failed(FEED, error)
        else:
            self._telling.accepted(accepted)
            self._due.reconcile = self._due.poll = 0.0

    def _poll_or_wait(self) -> None:
        moment = self._monotonic()
        pause = max(0.0, self._next_work() - moment)
        if moment < self._due.poll:
            asleep = min(pause, self._due.poll - moment, self._limits.longest_sleep_seconds)
            self._stop.sleep(max(asleep, 0.01))
            return
        wait = int(min(pause, self._limits.wait_seconds)) if self._polled else 0
        try:
            polled = self._poll.run(wait=wait, now=self._now())
        except FeedBrokenError as error:
            self._telling.failed(
                FEED, RefusedError("feed_broken", found=str(error), remedy="look at central's log")
            )
            self._due.poll = self._monotonic() + self._poll_backoff.failed()
            return
        except SiteError as error:
            if error.code.startswith("journal_"):
                raise
            self._poll_failed(error)
            return
        self._polled = True
        self._poll_backoff.succeeded()
        self._telling.polled(polled, self._journal.feed_state(), self._now())
        nothing = not polled.changes and self._monotonic() - moment < self._limits.least_poll_seconds
        if nothing or polled.switched:
            self._due.poll = moment + self._limits.least_poll_seconds

    def _poll_failed(self, error: SiteError) -> None:
        self._telling.failed(SITE_API, error)
        self._polled = False  # the next answer comes at once, not after a parked poll: health is known again
        if isinstance(error, SiteApiRefusedError):
            # Wrong token, wrong address: asked again now and then, for somebody may put it right at central.
            at_least = min(self._limits.refused_retry_seconds, 10.0 * (1 + self._poll_backoff.failures))
        else:
            at_least = _asked_for(error)
        self._due.poll = self._monotonic() + self._poll_backoff.failed(at_least=at_least)

    def _next_work(self) -> float:
        """When something other than the poll is due."""
        moments = [max(self._due.directory, min(self._due.reconcile, self._due.rights))]
        if self._journal.has_unsettled():
            moments.append(self._due.directory)
        if self._journal.has_unreported():
            moments.append(self._due.report)
        return min(moments)


def _asked_for(error: SiteError) -> float:
    return error.retry_after if isinstance(error, SiteApiUnavailableError) else 0.0


def needed_checks() -> tuple[str, ...]:
    """Checks that must pass once before the state is `ready`."""
    return (JOURNAL, DIRECTORY, RIGHTS, SITE_API, FEED)
