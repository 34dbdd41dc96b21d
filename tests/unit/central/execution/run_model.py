"""A Run as docs/wire.md tells it, in the plainest form: what the domain is compared with.

It shares no rule with the product: one mutable thing, one stage at hand, words instead of types. Each event
changes it or answers the code it is refused with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

STAGES = ("stage-in", "compute", "stage-out")
ENDS = {
    "member_asked": "cancelled",
    "deadline_passed": "timed_out",
    "account_unconfirmed_in_time": "failed",
}
REPOSITORY = ("repository_unknown", "repository_refused")
ORDER = (
    "site_maintenance",
    "resource_suspended",
    "authority_refused",
    "account_awaiting_site",
    "consent_expired",
)
ENDED = ("completed", "failed", "cancelled", "timed_out")
AT_ONCE, ATTEMPTS, REPOSITORY_AGAIN = 3, 10, timedelta(minutes=5)
SILENCE = timedelta(minutes=10)


@dataclass
class Model:
    """`stage` is waiting, issued, submitted or over, of the stage `at`; `asked` are all commands so far."""

    deadline: datetime
    patience: timedelta
    now: datetime
    n: int = 1
    at: int = 0
    stage: str = "waiting"
    issues: list[int] = field(default_factory=lambda: [0, 0, 0])
    state: str = "accepted"
    reason: str | None = None
    since: datetime | None = None
    changed: datetime | None = None
    cause: str | None = None
    cancel: str | None = None
    cancels: int = 0
    cleanup: str | None = None
    cleanups: int = 0
    pushed: bool = False
    output: bool = False
    asked: list[tuple[int, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.go_on()

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def released(self) -> bool:
        return self.ended and self.cleanup in (None, "done")

    @property
    def awaits_git(self) -> bool:
        return self.pushed and not self.ended

    def _touch(self) -> None:
        self.changed = self.now

    def _issue(self) -> None:
        self.issues[self.at] += 1
        self.stage = "issued"
        self.asked.append((self.n, STAGES[self.at], self.issues[self.at]))
        self._touch()

    def _end(self, state: str, reason: str | None) -> None:
        self.state, self.reason, self.since = state, reason, None
        self._touch()
        if any(self.issues):
            self._ask_cleanup()

    def _ask_cleanup(self) -> None:
        self.cleanup, self.cleanups = "asked", self.cleanups + 1
        self.asked.append((self.n, "cleanup", self.cleanups))
        self._touch()

    def _ask_end(self, cause: str) -> None:
        self.cause = cause
        if self.stage in ("issued", "submitted"):
            self._ask_site_to_cancel()
        else:
            self._end(ENDS[cause], cause)

    def _ask_site_to_cancel(self) -> None:
        self.cancel, self.cancels = "asked", self.cancels + 1
        self.state, self.reason, self.since = "cancelling", None, None
        self.asked.append((self.n, "cancel", self.cancels))
        self._touch()

    def cancel_answer(self, said: str) -> None:
        """The Site's word about the cancel that is asked for: refused, its stage goes on and all are told."""
        self.cancel = "told"
        if said != "accepted" and not self.ended:
            self.cancel, self.reason = "refused", said
            self._touch()

    def go_on(self) -> None:
        """Nothing holds it any more."""
        if self.ended or self.state == "cancelling":
            return
        self.state, self.reason, self.since = "running", None, None
        self._touch()
        if self.stage == "waiting":
            self._issue()

    def wait(self, reason: str) -> None:
        """Something holds it."""
        if not self.ended and self.state != "cancelling" and self.reason != reason:
            self.state, self.reason, self.since = "waiting", reason, self.now
            self._touch()

    def look(self, wrong: frozenset[str]) -> None:
        """The worker's look: everything in `wrong` holds it."""
        if self.ended or self.state == "cancelling" or self.stage not in ("waiting", "issued"):
            return
        reason = next((each for each in ORDER if each in wrong), None)
        if reason is not None:
            self.wait(reason)
        elif self.state == "waiting" and self.reason in REPOSITORY:
            assert self.changed is not None
            if self.stage == "waiting" and self.now >= self.changed + REPOSITORY_AGAIN:
                self._issue()
        elif not (self.state == "running" and self.stage == "issued"):
            self.go_on()

    def answer(self, said: str) -> None:
        """The Site's word about the issued command: accepted, command_expired, or another refusal."""
        if self.ended:
            return
        self._touch()
        if said == "accepted":
            self.stage = "submitted"
        elif said == "command_expired" and self.state != "cancelling":
            self.stage = "waiting"
            if self.state != "waiting" and self.issues[self.at] <= AT_ONCE:
                self._issue()
        else:
            self._stage_over(said, "failed", said)

    def _stage_over(self, _said: str, state: str, reason: str | None) -> None:
        self.stage = "over"
        if self.state == "cancelling":
            assert self.cause is not None
            self._end(ENDS[self.cause], self.cause)
        else:
            self._end(state, reason)

    def verdict(self, verdict: str, *, output: bool) -> None:
        """The end of the submitted job."""
        if self.ended:
            return
        self._touch()
        last = self.at == len(STAGES) - 1
        if last and output:
            self.pushed = True
        if self.state == "cancelling":
            self._stage_over(verdict, "", None)
        elif verdict != "completed":
            state = verdict if verdict in ("cancelled", "timed_out") else "failed"
            self._stage_over(verdict, state, f"{STAGES[self.at].replace('-', '_')}_{verdict}")
        elif not last:
            self.at, self.stage = self.at + 1, "waiting"
            if self.state != "waiting":
                self._issue()
        elif output:
            self.stage = "over"
        else:
            self._stage_over(verdict, "completed", None)

    def ask_cancel(self) -> str | None:
        """A member asks for the end."""
        if self.ended:
            return "run_ended"
        if self.cause is None:
            self._ask_end("member_asked")
        elif self.cancel == "refused":
            self._ask_site_to_cancel()
        return None

    def look_at_deadline(self) -> None:
        """The deadline ends it, but not what only awaits the Git host's word."""
        if not (self.ended or self.cause or self.now < self.deadline or self.pushed):
            self._ask_end("deadline_passed")

    def look_at_patience(self) -> None:
        """What nobody confirmed for too long has failed."""
        if self.state != "waiting" or self.since is None or self.now < self.since + self.patience:
            return
        if self.pushed:
            self._end("failed", "output_unconfirmed_in_time")
        elif self.reason == "account_awaiting_site":
            self._ask_end("account_unconfirmed_in_time")

    def git_says(self, *, there: bool) -> None:
        """The Git host was asked for the output."""
        if self.awaits_git:
            self.output = there
            self._end("completed" if there else "failed", None if there else "output_unconfirmed")

    def cleanup_answer(self, said: str) -> None:
        """The Site's word about the cleanup that is asked for."""
        self._touch()
        if said == "accepted":
            self.cleanup = "told"
        elif said == "command_expired" and self.cleanups <= AT_ONCE:
            self._ask_cleanup()
        else:
            self.cleanup = "refused"

    def cleanup_end(self, *, done: bool) -> None:
        """How the accepted cleanup ended."""
        self.cleanup = "done" if done else "refused"
        self._touch()

    def clean_again(self) -> str | None:
        """A member has it asked for again."""
        if self.cleanup == "done":
            return "cleanup_settled"
        if self.cleanup != "refused":
            return "cleanup_not_refused"
        self._ask_cleanup()
        return None

    def settle(self) -> str | None:
        """An operator's word, for a cleanup or for a Site that is silent about a Run that has to end."""
        if self.state == "cancelling":
            assert self.changed is not None
            assert self.cause is not None
            if self.now < self.changed + SILENCE:
                return "site_awaited"
            self.state, self.reason = ENDS[self.cause], "settled_by_operator"
            self.cancel, self.cleanup = "told", "done"
            self._touch()
            return None
        if self.cleanup in (None, "done"):
            return "cleanup_not_refused" if self.cleanup is None else "cleanup_settled"
        self.cleanup = "done"
        self._touch()
        return None

    def retry(self, *, held: bool) -> str | None:
        """Another attempt."""
        if self.state == "completed":
            return "run_completed"
        if not self.released or self.cancel == "asked":
            return "attempt_unsettled"
        if self.n >= ATTEMPTS:
            return "attempt_limit"
        self.n, self.at, self.stage, self.issues = self.n + 1, 0, "waiting", [0, 0, 0]
        self.state, self.reason, self.since, self.cause, self.cancel = "accepted", None, None, None, None
        self.cancels, self.cleanup, self.cleanups, self.pushed, self.output = 0, None, 0, False, False
        if held:
            self.wait("site_maintenance")
        else:
            self.go_on()
        return None
