"""Another attempt of a Run, and words about an earlier one (E1, E7, X7). Pure.

1. A Run is tried again once its attempt is settled: ended, cleaned up, every command of it answered. Until
   then something of it may still be at the Site.
2. A completed Run is not tried again: its output stands. `ATTEMPTS_MAX` bounds the others.
3. Request, allocation and identity are the saved ones; stages, workspace, credentials and commands are new,
   for their names follow from the attempt.
4. What a Site says again of an earlier attempt is told the same, and moves nothing.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from central.execution.domain.command import COMMANDS
from central.execution.domain.progress import Refusal, Step, StepRefused, begin, hold
from central.execution.domain.run import Attempt, Past, Run, RunState, Stage, StageName, WaitReason

ATTEMPTS_MAX: Final = 10


def new_attempt(run_id: UUID, number: int, *, by: UUID | None = None, at: datetime | None = None) -> Attempt:
    """An attempt nothing was asked for yet; its id follows from Run and number."""
    stages = tuple(Stage(name) for name in StageName)
    return Attempt(uuid5(COMMANDS, f"attempt {run_id} {number}"), number, stages, by, at)


def check_retry(run: Run) -> None:
    """Rules 1 and 2. Raises `StepRefused`."""
    if run.state is RunState.COMPLETED:
        raise StepRefused(Refusal.RUN_COMPLETED)
    if not run.settled:
        raise StepRefused(Refusal.ATTEMPT_UNSETTLED)
    if run.attempt.number >= ATTEMPTS_MAX:
        raise StepRefused(Refusal.ATTEMPT_LIMIT)


def retry(run: Run, actor: UUID, now: datetime, *, held: WaitReason | None = None) -> Step:
    """The Run with its next attempt and that one's first command; without one while it is `held`.

    Raises `StepRefused`.
    """
    check_retry(run)
    past = Past(run.state, run.reason, run.revision, run.cancellation, run.cleanup)
    following = new_attempt(run.run_id, run.attempt.number + 1, by=actor, at=now)
    attempts = (*run.attempts[:-1], replace(run.attempt, past=past), following)
    tried = replace(
        run, attempts=attempts, cancellation=None, cleanup=None, state=RunState.ACCEPTED, reason=None
    )
    return begin(tried, now) if held is None else hold(tried, held, now)


def as_of(run: Run, attempt_id: UUID) -> Run | None:
    """The Run as that attempt left it: itself for the latest one, None for one it does not have."""
    if run.attempt.attempt_id == attempt_id:
        return run
    for place, attempt in enumerate(run.attempts):
        if attempt.attempt_id == attempt_id and attempt.past is not None:
            past = attempt.past
            return replace(
                run,
                state=past.state,
                reason=past.reason,
                revision=past.revision,
                cancellation=past.cancellation,
                cleanup=past.cleanup,
                attempts=run.attempts[: place + 1],
            )
    return None


def numbered(run: Run, attempt_id: UUID) -> int:
    """The number of one of its attempts."""
    return next(each.number for each in run.attempts if each.attempt_id == attempt_id)
