"""Whether a Run may go on with its next stage, and what the member is told while it may not (E4, E5, S15).

1. The first reason that holds, in the order of `reason_of`, is the one told: what the member cannot end by
   itself comes before what it can.
2. Only a Run whose next stage is not submitted yet is held: what runs, runs on, and its next stage is looked
   at when it is issued.
3. A reason that is over lets the Run go on by itself. Whether a repository's is over is seen only by asking
   its host again, which the Site does with the stage's command: every `REPOSITORY_AGAIN` it has a fresh one.
4. While the Site drains or the allocation is paused nothing is begun, though a stage was issued before. Every
   other reason ends when a stage is about to be begun, for that asks for all of them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from central.execution.domain.progress import Step, ask_again, begin, hold
from central.execution.domain.run import Run, RunState, Stage, StageState, WaitReason

REPOSITORY_AGAIN: Final = timedelta(minutes=5)
REPOSITORY: Final = frozenset({WaitReason.REPOSITORY_UNKNOWN.value, WaitReason.REPOSITORY_REFUSED.value})

_STANDING: Final = frozenset({WaitReason.SITE_MAINTENANCE.value, WaitReason.RESOURCE_SUSPENDED.value})


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known now: the Site drains; the provider paused the allocation; Beto lets the member continue;
    the Site confirms the account; the member's consent stands.
    """

    maintenance: bool
    suspended: bool
    allowed: bool
    confirmed: bool
    consent: bool


def next_stage(run: Run) -> Stage | None:
    """The stage the Run goes on with, None when it has ended, is ending, or has a job (rule 2)."""
    if run.ended or run.state is RunState.CANCELLING:
        return None
    stage = run.attempt.open_stage
    return stage if stage is not None and stage.state in (StageState.WAITING, StageState.ISSUED) else None


def reason_of(known: Circumstances) -> WaitReason | None:
    """Rule 1."""
    held = (
        (WaitReason.SITE_MAINTENANCE, known.maintenance),
        (WaitReason.RESOURCE_SUSPENDED, known.suspended),
        (WaitReason.AUTHORITY_REFUSED, not known.allowed),
        (WaitReason.ACCOUNT_AWAITING_SITE, not known.confirmed),
        (WaitReason.CONSENT_EXPIRED, not known.consent),
    )
    return next((reason for reason, holds in held if holds), None)


def reconsider(run: Run, known: Circumstances, now: datetime) -> Step:
    """Holds the Run, lets it go on, or leaves it as it is (rules 2 and 3)."""
    stage = next_stage(run)
    if stage is None:
        return Step(run)
    reason = reason_of(known)
    if reason is not None:
        return hold(run, reason, now)
    if run.state is RunState.RUNNING and stage.state is StageState.ISSUED:
        return Step(run)
    if run.state is RunState.WAITING and run.reason in REPOSITORY:
        due = stage.state is StageState.WAITING and now >= run.changed_at + REPOSITORY_AGAIN
        return ask_again(run, now) if due else Step(run)
    return begin(run, now)


def stands_still(run: Run) -> bool:
    """Whether nothing of the Run is begun now (rule 4)."""
    return run.state is RunState.WAITING and run.reason in _STANDING


def resume(run: Run, now: datetime) -> Step:
    """Lets a Run go on whose next stage is about to be begun (rule 4)."""
    waits = run.state is RunState.WAITING and run.reason not in _STANDING
    return begin(run, now) if waits else Step(run)
