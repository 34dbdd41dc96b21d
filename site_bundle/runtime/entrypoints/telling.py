"""Everything the Runtime says: log lines, health, status and metrics files, the service manager."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from site_bundle.kernel.errors import RefusedError, SiteError
from site_bundle.kernel.health import Check, Health, Status
from site_bundle.kernel.logs import Log
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.voice import StatusSink, Voice
from site_bundle.runtime.application.observe_jobs import Looked
from site_bundle.runtime.application.poll_commands import Polled
from site_bundle.runtime.application.ports import Word
from site_bundle.runtime.application.send_words import Sent
from site_bundle.runtime.domain.command import Command
from site_bundle.runtime.domain.feed import FeedState
from site_bundle.runtime.domain.stage import NOT_UNDERSTOOD, Stage, State
from site_bundle.runtime.entrypoints.status_document import Telemetry, runtime_metrics, status_document

JOURNAL, SITE_API, FEED, SLURM, WORDS, COMMANDS = "journal", "site_api", "feed", "slurm", "words", "commands"
REQUESTS = "requests"


def needed_checks() -> tuple[str, ...]:
    """Checks that must pass once before the state is `ready`."""
    return (JOURNAL, SITE_API, FEED, SLURM)


class StatusJournal(Protocol):
    """What the journal says for the status."""

    def feed_state(self) -> FeedState: ...

    def counts(self) -> dict[str, int]: ...

    def waiting_count(self) -> int: ...

    def is_draining(self) -> bool: ...


class Telling(Voice):
    """The port Events, and the Runtime's voice. Logs name commands by id, jobs by number, never people."""

    def __init__(
        self,
        *,
        log: Log,
        health: Health,
        telemetry: Telemetry,
        files: StatusSink,
        notifier: Notifier,
        journal: StatusJournal,
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

    # Events.

    def moved(self, before: Stage, after: Stage) -> None:
        if before.state is after.state:
            return
        self._telemetry.moves[after.state.value] += 1
        command, job = after.command, after.job
        fields: dict[str, object] = {
            "command": command.command_id,
            "run": command.run_id,
            "stage": command.submit.stage.value,
            "to": after.state.value,
            "job": job.job_id if job else None,
            "verdict": after.end.verdict.value if after.end else None,
            "code": after.code or (after.end.code if after.end else None),
        }
        if after.state is State.REFUSED and after.code:
            self._telemetry.refusals[after.code] += 1
        write = self._log.warning if after.state is State.REFUSED else self._log.info
        write("stage", **fields)

    def would(self, stage: Stage, what: str) -> None:
        command = stage.command
        self._log.info("would", command=command.command_id, stage=command.submit.stage.value, act=what)

    def waits(self, command: Command, error: SiteError) -> None:
        self._log.warning("waits", command=command.command_id, code=error.code, found=error.found)

    def cancelled(self, command: Command, job_id: str) -> None:
        self._log.info("job_cancelled", command=command.command_id, run=command.run_id, job=job_id)

    def closed(self, command: Command) -> None:
        self._log.info(
            "closed", command=command.command_id, run=command.run_id, act=type(command.action).__name__
        )

    def word(self, word: Word, refusal: str | None) -> None:
        self._telemetry.last_receipt_at = self._now()
        write = self._log.warning if refusal else self._log.info
        write("word", command=word.command_id, kind=word.kind, refusal=refusal)

    # Turns.

    def polled(self, polled: Polled, state: FeedState) -> None:
        self._telemetry.last_poll_at = self._now()
        self.passed(SITE_API, "answers")
        self.show(_feed_check(state))
        if polled.switched:
            self._log.warning(
                "feed_switched", feed=state.current, accepted=state.accepted, rewound=polled.rewound
            )
        for refused in polled.refused:
            self._telemetry.refusals[NOT_UNDERSTOOD] += 1
            self._log.warning("refused", command=refused, code=NOT_UNDERSTOOD)
        for settled in polled.aside:
            self._log.notice("set_aside", command=settled)
        if polled.added:
            self._log.info("commands_journalled", commands=polled.added, cursor=state.cursor)

    def feed_broken(self, text: str) -> None:
        self.failed(FEED, RefusedError("feed_broken", found=text, remedy="look at central's log"))

    def looked(self, looked: Looked) -> None:
        if looked.look is not None:
            self._telemetry.last_look_at = self._now()
            self.passed(SLURM, "queue and accounting answer")

    def sent(self, sent: Sent) -> None:
        if sent.error is not None:
            self.failed(WORDS, sent.error)
        elif sent.refused:
            found = f"central refused {sent.refused} for good"
            remedy = "read central's log for these commands; the journal keeps what was refused"
            self.show(Check(WORDS, Status.WARN, found, "every word taken", remedy, "words_refused"))
        elif sent.words:
            self.passed(WORDS, "central has them")

    def waiting(self, errors: dict[str, SiteError]) -> None:
        """`errors`: why commands wait, by code."""
        if not errors:
            self.passed(COMMANDS, "none waits for something of this Site")
            return
        first = next(iter(errors.values()))
        found = f"commands wait: {', '.join(sorted(errors))}"
        self.show(Check(COMMANDS, Status.WARN, found, "each begun in its time", first.remedy, first.code))

    def accepted(self, feed: object) -> None:
        self._log.notice("feed_accepted", feed=feed)

    def requests_read(self) -> None:
        """Shown only to whoever was told that they could not be."""
        if REQUESTS in self._health.checks:
            self.passed(REQUESTS, "every request was read")

    def drained(self, *, draining: bool) -> None:
        self._log.notice("draining" if draining else "taking_work")

    def rate(self, per_minute: float, programs: dict[str, int]) -> None:
        self._telemetry.commands_per_minute, self._telemetry.programs = per_minute, programs

    # The files.

    def documents(self, now: datetime) -> tuple[dict[str, Any], list[Metric]]:
        document = status_document(
            self._telemetry,
            self._health,
            feed=self._feed(),
            commands=_or(self._journal.counts, {}),
            waiting=_or(self._journal.waiting_count, None),
            draining=_or(self._journal.is_draining, None),
            now=now,
        )
        return document, runtime_metrics(self._telemetry, self._health, document)

    def _feed(self) -> dict[str, Any]:
        state = _or(self._journal.feed_state, FeedState())
        return {
            "accepted": str(state.accepted) if state.accepted else None,
            "current": str(state.current) if state.current else None,
            "sequence": state.cursor,
        }


def _or(read: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return read()
    except SiteError:
        return otherwise


def _feed_check(state: FeedState) -> Check:
    wanted = "the accepted history"
    if state.may_begin:
        return Check(FEED, Status.PASS, f"history {state.current}", wanted)
    if state.rewound:
        found, code = "central did not know a position it gave out: it was rewound", "feed_position_unknown"
    else:
        found, code = f"central's history is now {state.current}, not the accepted one", "feed_not_accepted"
    remedy = f"if central was restored or rebuilt: pharos-runtime accept-feed {state.current or 'FEED'}"
    return Check(FEED, Status.FAIL, f"{found}; nothing is begun", wanted, remedy, code)
