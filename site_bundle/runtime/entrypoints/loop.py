"""The Runtime's loop: poll, begin, look, close, deliver; each on its own schedule, one after the other.

1. What is due is done; then the long poll is the wait, cut short by whatever is due next, or by SIGURG when
   an administrator asks for something. Nothing spins.
2. A command that fails waits by its own back-off; the others go on. Beginning many, or against an owner that
   hangs, does not keep a cancel or a look from its turn.
3. Looks are quick after something moved and slow while nothing does; without a job there are none (S10).
4. The watchdog is fed by finished steps only, so a loop that hangs is restarted.
5. SIGTERM ends a wait at once and anything else between two steps: a submission is never left halfway.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from site_bundle.kernel.backoff import Backoff
from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import PeerRefusedError, PeerUnavailableError
from site_bundle.kernel.stop import Stop, StopRequested, Woken
from site_bundle.runtime.application.begin_stage import BeginStage
from site_bundle.runtime.application.close_attempt import CloseAttempt
from site_bundle.runtime.application.observe_jobs import ObserveJobs
from site_bundle.runtime.application.poll_commands import PollCommands, Polled
from site_bundle.runtime.application.ports import Journal
from site_bundle.runtime.application.send_words import SendWords
from site_bundle.runtime.domain.feed import FeedBrokenError
from site_bundle.runtime.domain.refusals import PASSING
from site_bundle.runtime.domain.stage import State
from site_bundle.runtime.entrypoints.maintenance import Maintenance
from site_bundle.runtime.entrypoints.telling import JOURNAL, SITE_API, SLURM, Telling

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Seconds."""

    wait_seconds: int = 50
    least_look_seconds: float = 2.0
    most_look_seconds: float = 30.0
    least_close_seconds: float = 2.0
    most_close_seconds: float = 30.0
    growth: float = 1.5  # of the time to the next look, and to the next try to close, while nothing moves
    begin_seconds: float = 15.0
    least_poll_seconds: float = 1.0
    longest_sleep_seconds: float = 30.0
    first_retry_seconds: float = 1.0
    retry_seconds: float = 60.0
    refused_retry_seconds: float = 300.0


@dataclass(slots=True)
class Due:
    """When each turn is due, in monotonic seconds."""

    walk: float = 0.0
    poll: float = 0.0
    look: float = 0.0
    close: float = 0.0
    send: float = 0.0


@dataclass(slots=True)
class Retry:
    """One command's back-off."""

    backoff: Backoff
    due: float = 0.0
    error: SiteError | None = None


@dataclass(slots=True)
class UseCases:
    """What the loop sets in motion."""

    poll: PollCommands
    begin: BeginStage
    observe: ObserveJobs
    close: CloseAttempt
    send: SendWords
    maintenance: Maintenance


@dataclass
class Loop:
    """One process. `run` returns after an orderly stop. `programs`: Slurm's commands run so far, by name."""

    do: UseCases
    journal: Journal
    telling: Telling
    stop: Stop
    limits: LoopLimits
    programs: Callable[[], dict[str, int]]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    draw: Callable[[], float]
    due: Due = field(default_factory=Due)
    pace: float = 0.0
    close_pace: float = 0.0
    polled: bool = False
    allowed: bool = False
    retries: dict[UUID, Retry] = field(default_factory=dict)
    history: deque[tuple[float, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.close_pace = self.limits.least_close_seconds
        self._poll_backoff = self._backoff()
        self._look_backoff = self._backoff()
        self._send_backoff = self._backoff()
        self._journal_backoff = self._backoff()

    def _backoff(self) -> Backoff:
        return Backoff(self.limits.first_retry_seconds, self.limits.retry_seconds, self.draw)

    def run(self) -> None:
        """Until SIGTERM. READY is sent when the journal is open."""
        try:
            self.telling.passed(JOURNAL, "open and intact")
            self.telling.ready()
            while True:
                self.stop.check()
                self._cycle()
        except StopRequested:
            self.telling.stopping()

    def _cycle(self) -> None:
        try:
            self.do.maintenance.take(now=self.now())
            self._begin_turn()
            self._look_turn()
            self._close_turn()
            self._send_turn()
            self._tell_rate()
            self.telling.publish()
            self._poll_or_wait()
            self._journal_backoff.succeeded()
            self.telling.passed(JOURNAL, "open and intact")
        except UnavailableError as error:
            # Turns keep their own faults; what comes here is the journal's.
            self.telling.failed(JOURNAL, error)
            self.telling.publish()
            self.stop.sleep(self._journal_backoff.failed())

    # Beginning.

    def _begin_turn(self) -> None:
        received = [stage for stage in self.journal.stages() if stage.state is State.RECEIVED]
        before, self.retries = self.retries, {}
        for stage in received:
            known = stage.command.command_id
            self.retries[known] = before.get(known) or Retry(self._backoff())
        if not received:
            self.telling.waiting({})
            return
        may_begin = self.journal.feed_state().may_begin and not self.journal.is_draining()
        if may_begin and not self.allowed:
            self.retries = {known: Retry(self._backoff()) for known in self.retries}
        self.allowed = may_begin
        end = self.monotonic() + self.limits.begin_seconds
        for stage in received:
            self.stop.check()
            retry = self.retries[stage.command.command_id]
            if self.monotonic() >= end:
                break  # those that are left are due at once: after the other turns
            if self.monotonic() < retry.due and self.now() <= stage.command.valid_until:
                continue
            try:
                after = self.do.begin.run(stage, may_begin=may_begin, now=self.now())
            except SiteError as error:
                _unless_journal(error)
                retry.error = error
                retry.due = self.monotonic() + retry.backoff.failed(at_least=_asked_for(error))
                self.telling.waits(stage.command, error)
            else:
                retry.error = None
                retry.due = self.monotonic() + self.limits.longest_sleep_seconds
                if after.state is not State.RECEIVED:
                    self._hurry()
            self.telling.progress()
        errors = [retry.error for retry in self.retries.values() if retry.error is not None]
        self.telling.waiting({error.code: error for error in errors})

    def _hurry(self) -> None:
        """Something moved: the next look is soon."""
        self.pace = self.limits.least_look_seconds
        self.due.look = min(self.due.look, self.monotonic() + self.pace)
        self.due.send = min(self.due.send, self.monotonic())
        self._close_soon()

    # Looking.

    def _look_turn(self) -> None:
        if self.monotonic() < self.due.look:
            return
        try:
            looked = self.do.observe.run(now=self.now())
        except SiteError as error:
            _unless_journal(error)
            self.telling.failed(SLURM, error)
            self.due.look = self.monotonic() + self._look_backoff.failed()
            return
        if self._look_backoff.failures:
            self._close_soon()  # Slurm answers again
        self._look_backoff.succeeded()
        self.telling.looked(looked)
        limits = self.limits
        if looked.changed or not self.pace:
            self.pace = limits.least_look_seconds
            self.due.send = min(self.due.send, self.monotonic())
            self._close_soon()
        else:
            self.pace = min(limits.most_look_seconds, self.pace * limits.growth)
        self.due.look = self.monotonic() + self.pace if looked.open else NEVER

    def _close_soon(self) -> None:
        """Something came that a cancel or a cleanup may have waited for."""
        self.close_pace, self.due.close = self.limits.least_close_seconds, self.monotonic()

    def _close_turn(self) -> None:
        """What only waits is looked at ever more seldom, so that the long poll is not cut short for it."""
        if self.monotonic() < self.due.close:
            return
        closings = self.journal.closings()
        limits = self.limits
        self.due.close = self.monotonic() + self.close_pace if closings else NEVER
        self.close_pace = min(limits.most_close_seconds, self.close_pace * limits.growth)
        if not self.journal.feed_state().may_begin:
            return
        for closing in closings:
            self.stop.check()
            now = self.now()
            if now > closing.command.valid_until:
                self.due.walk = min(self.due.walk, self.monotonic())
                continue
            try:
                if self.do.close.run(closing, now=now):
                    self._hurry()
            except SiteError as error:
                _unless_journal(error)
                self.telling.waits(closing.command, error)
            self.telling.progress()

    # Delivering.

    def _send_turn(self) -> None:
        if self.monotonic() < self.due.send:
            return
        sent = self.do.send.run()
        self.telling.sent(sent)
        if sent.error is None:
            self._send_backoff.succeeded()
            self.due.send = NEVER
            return
        least = self.limits.refused_retry_seconds if _is_hopeless(sent.error) else _asked_for(sent.error)
        self.due.send = self.monotonic() + self._send_backoff.failed(at_least=least)

    # Polling.

    def _poll_or_wait(self) -> None:
        moment = self.monotonic()
        pause = max(0.0, self._next_work() - moment)
        if moment < self.due.poll:
            asleep = min(pause, self.due.poll - moment, self.limits.longest_sleep_seconds)
            self.stop.sleep(max(asleep, 0.01))
            return
        wait = int(min(pause, self.limits.wait_seconds)) if self.polled else 0
        try:
            added, switched = self._poll(wait, moment)
        except Woken:
            return  # an administrator asked for something: the next cycle begins with it
        except FeedBrokenError as error:
            self.telling.feed_broken(str(error))
            self.due.poll = self.monotonic() + self._poll_backoff.failed()
            return
        except SiteError as error:
            _unless_journal(error)
            self._poll_failed(error)
            return
        self.polled = True
        self._poll_backoff.succeeded()
        if added:
            self._close_soon()
        if switched or (not added and self.monotonic() - moment < self.limits.least_poll_seconds):
            self.due.poll = moment + max(self.limits.least_poll_seconds, min(pause, 1.0))

    def _poll(self, wait: int, moment: float) -> tuple[int, bool]:
        """New commands, and whether another history answered. What is not acknowledged is walked first at
        start.
        """
        added = 0
        if moment >= self.due.walk:
            walked = self.do.poll.walk(now=self.now())
            self.telling.polled(walked, self.journal.feed_state())
            self._deliver(walked)
            if walked.switched:
                return 0, True
            self.due.walk = NEVER
            added, wait = walked.added, 0
            self.due.close = self.monotonic()
        with self.stop.wakeable():
            polled = self.do.poll.run(wait=wait, now=self.now())
        self.telling.polled(polled, self.journal.feed_state())
        self._deliver(polled)
        if polled.switched:
            self.due.walk = 0.0
        return added + polled.added, polled.switched

    def _deliver(self, polled: Polled) -> None:
        """What was refused in passing is said at once."""
        if polled.refused:
            self.due.send = min(self.due.send, self.monotonic())

    def _poll_failed(self, error: SiteError) -> None:
        self.telling.failed(SITE_API, error)
        self.polled = False
        least = _asked_for(error)
        if isinstance(error, PeerRefusedError):
            least = min(self.limits.refused_retry_seconds, 10.0 * (1 + self._poll_backoff.failures))
        self.due.poll = self.monotonic() + self._poll_backoff.failed(at_least=least)

    def _next_work(self) -> float:
        """When something other than the poll is due."""
        waiting = [retry.due for retry in self.retries.values()]
        return min([self.due.look, self.due.close, self.due.send, *waiting])

    def _tell_rate(self) -> None:
        programs = self.programs()
        moment, total = self.monotonic(), sum(programs.values())
        self.history.append((moment, total))
        while len(self.history) > 1 and self.history[1][0] <= moment - 60.0:
            self.history.popleft()
        began, before = self.history[0]
        self.telling.rate((total - before) * 60.0 / max(60.0, moment - began), dict(programs))


def _unless_journal(error: SiteError) -> None:
    """The journal's own fault is the whole loop's."""
    if error.code.startswith("journal_"):
        raise error


def _asked_for(error: SiteError) -> float:
    return error.retry_after if isinstance(error, PeerUnavailableError) else 0.0


def _is_hopeless(error: SiteError) -> bool:
    return isinstance(error, PeerRefusedError) and error.code not in PASSING
