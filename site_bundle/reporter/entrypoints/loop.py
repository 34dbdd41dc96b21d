"""The reporter's loop: a pass, what is in the outbox, the month's cross-check; each on its own schedule.

1. A pass begins every interval; one that failed waits by its own back-off, at least as long as it was asked.
2. What the outbox holds is sent after each pass, and again by back-off while central is away. The cross-check
   that failed is made again by back-off, too: the check it failed says so until then.
3. The watchdog is fed by finished steps only, so a loop that hangs is restarted.
4. SIGTERM ends a wait at once and anything else between two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from site_bundle.kernel.backoff import Backoff
from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import PeerRefusedError, PeerUnavailableError
from site_bundle.kernel.stop import Stop, StopRequested
from site_bundle.reporter.application.check_usage import CheckUsage
from site_bundle.reporter.application.observe_site import ObserveSite
from site_bundle.reporter.application.ports import Outbox
from site_bundle.reporter.application.send_reports import SendReports
from site_bundle.reporter.domain.sources import Row
from site_bundle.reporter.entrypoints.telling import JOURNAL, SLURM, USAGE, WALDUR, Telling


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Seconds."""

    interval_seconds: float = 60.0
    usage_seconds: float = 3600.0
    least_pause_seconds: float = 1.0
    longest_sleep_seconds: float = 30.0
    first_retry_seconds: float = 2.0
    retry_seconds: float = 60.0
    refused_retry_seconds: float = 300.0


@dataclass(slots=True)
class Due:
    """When each turn is due, in monotonic seconds."""

    observe: float = 0.0
    send: float = 0.0
    usage: float = 0.0


def source_of(error: SiteError) -> str:
    """The check a failed pass belongs to, by the code of what failed."""
    return SLURM if error.code.startswith("slurm_") else WALDUR


class Loop:
    """One process. `run` returns after an orderly stop."""

    def __init__(
        self,
        *,
        observe: ObserveSite,
        send: SendReports,
        usage: CheckUsage,
        outbox: Outbox,
        commands: Callable[[], int],
        rest: Callable[[], None],
        telling: Telling,
        stop: Stop,
        limits: LoopLimits,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        """`commands`: how many native commands were run since the start. `rest` is called before a wait."""
        self._observe = observe
        self._send = send
        self._usage = usage
        self._outbox = outbox
        self._commands = commands
        self._ends = rest
        self._telling = telling
        self._stop = stop
        self._limits = limits
        self._now = now
        self._monotonic = monotonic
        self._due = Due()
        self._rows: tuple[Row, ...] | None = None  # of the latest pass; nothing else of it is kept (S10)
        self._pass_backoff = Backoff(limits.first_retry_seconds, limits.retry_seconds, draw)
        self._send_backoff = Backoff(limits.first_retry_seconds, limits.retry_seconds, draw)
        self._usage_backoff = Backoff(limits.first_retry_seconds, limits.retry_seconds, draw)
        self._journal_backoff = Backoff(limits.first_retry_seconds, limits.retry_seconds, draw)

    def run(self) -> None:
        """Until SIGTERM. READY is sent when the journal is open."""
        try:
            self._telling.passed(JOURNAL, "open and intact")
            self._telling.ready()
            while True:
                self._stop.check()
                self._cycle()
        except StopRequested:
            self._telling.stopping()

    def _cycle(self) -> None:
        try:
            if self._monotonic() >= self._due.observe:
                self._pass()
            if self._monotonic() >= self._due.send:
                self._deliver()
            if self._monotonic() >= self._due.usage:
                self._compare()
            self._journal_backoff.succeeded()
            self._telling.passed(JOURNAL, "open and intact")
        except UnavailableError as error:
            # Turns keep their own faults; what comes here is the journal's.
            self._telling.failed(JOURNAL, error)
            self._telling.publish()
            self._stop.sleep(self._journal_backoff.failed())
            return
        self._telling.publish()
        self._rest()

    def _pass(self) -> None:
        moment, commands = self._monotonic(), self._commands()
        limits = self._limits
        try:
            observed = self._observe.run(now=self._now())
        except SiteError as error:
            if error.code.startswith("journal_"):
                raise
            self._telling.pass_failed(source_of(error), error)
            least = limits.refused_retry_seconds if isinstance(error, PeerRefusedError) else _asked_for(error)
            self._due.observe = self._monotonic() + self._pass_backoff.failed(at_least=least)
            return
        self._pass_backoff.succeeded()
        ended = self._monotonic()
        self._rows = observed.rows
        self._telling.observed(observed, seconds=ended - moment, commands=self._commands() - commands)
        self._due.observe = max(moment + limits.interval_seconds, ended + limits.least_pause_seconds)
        if not self._send_backoff.failures:
            self._due.send = ended

    def _deliver(self) -> None:
        sent = self._send.run(now=self._now())
        self._telling.sent(sent)
        if sent.error is None:
            self._send_backoff.succeeded()
            self._due.send = float("inf")  # until the next pass
            return
        refused = isinstance(sent.error, PeerRefusedError) and sent.error.code != "observed_in_future"
        least = self._limits.refused_retry_seconds if refused else _asked_for(sent.error)
        self._due.send = self._monotonic() + self._send_backoff.failed(at_least=least)

    def _compare(self) -> None:
        if self._rows is None:
            return
        try:
            compared = self._usage.run(self._rows, now=self._now())
        except SiteError as error:
            self._telling.failed(USAGE, error)
            self._due.usage = self._monotonic() + self._usage_backoff.failed()
            return
        self._usage_backoff.succeeded()
        self._telling.compared(compared)
        self._due.usage = self._monotonic() + self._limits.usage_seconds

    def _rest(self) -> None:
        self._ends()
        pause = min(self._due.observe, self._due.send) - self._monotonic()
        self._stop.sleep(max(0.01, min(pause, self._limits.longest_sleep_seconds)))


def _asked_for(error: SiteError) -> float:
    return error.retry_after if isinstance(error, PeerUnavailableError) else 0.0
