"""How a Run moves (S1, S2, E7). Every step is pure and gives the next version with the commands it asks for.

1. A stage is issued only when the verdict before it is in, and only while the Run is not ending.
2. An acknowledgement or a result said again is told the same and moves nothing; another one under a recorded
   command is refused.
3. A command that ran out of its validity before it was begun is asked for again under a new id: at once, but
   not while the Run waits nor more than `REISSUED_AT_ONCE` times, for what stands against it then would make
   it run out again; the worker looks into it. Any other refusal of a Site is definite and ends the Run.
4. A Run ends with the verdict of its stage; cancelling, whatever ends next ends it as cancelled, also where
   the Site refused the cancel: that is said, and another asking asks the Site anew. What a job
   did before its cancel reached it is not undone.
5. The chain's end is the Git server's word, not the Site's: until `confirm_output` the Run still runs.
6. Whatever was ever issued is cleaned up once; only a cleanup that is done releases the account (P27). One
   the Site refuses stays refused, with its reason, until it is asked for again or settled (`settling`).
7. An ended Run whose stage the Site still owes a word about was ended by an operator: such a word moves
   nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from central.execution.domain.command import (
    Cancel,
    CleanUp,
    SiteCommand,
    command_id,
    submit,
)
from central.execution.domain.run import (
    Acknowledgement,
    Cancellation,
    Cleanup,
    EndCause,
    Output,
    Result,
    Run,
    RunState,
    Stage,
    StageName,
    StageState,
    Verdict,
    WaitReason,
)

EXPIRED: Final = "command_expired"
REISSUED_AT_ONCE: Final = 3
OUTPUT_OVERDUE: Final = "output_unconfirmed_in_time"
OUTPUT_UNCONFIRMED: Final = "output_unconfirmed"
_END: Final = {Verdict.CANCELLED: RunState.CANCELLED, Verdict.TIMED_OUT: RunState.TIMED_OUT}
ASKED: Final = {
    EndCause.MEMBER_ASKED: RunState.CANCELLED,
    EndCause.DEADLINE_PASSED: RunState.TIMED_OUT,
    EndCause.ACCOUNT_UNCONFIRMED: RunState.FAILED,
}


class Refusal(StrEnum):
    """Why a step is not taken; each a code of docs/wire.md."""

    COMMAND_UNKNOWN = "command_unknown"
    COMMAND_ACKNOWLEDGED = "command_acknowledged"
    COMMAND_NOT_ACKNOWLEDGED = "command_not_acknowledged"
    RUN_ENDED = "run_ended"
    RUN_COMPLETED = "run_completed"
    ATTEMPT_UNSETTLED = "attempt_unsettled"
    ATTEMPT_LIMIT = "attempt_limit"
    CLEANUP_NOT_REFUSED = "cleanup_not_refused"
    CLEANUP_SETTLED = "cleanup_settled"
    SITE_AWAITED = "site_awaited"


class StepRefused(Exception):
    """The step does not fit where the Run stands; nothing is changed."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Step:
    """The Run after a step, and the commands it asks for in their order. Unchanged: the very same Run."""

    run: Run
    commands: tuple[SiteCommand, ...] = ()


def begin(run: Run, now: datetime) -> Step:
    """Issues the first stage of a new Run, or of one whose wait is over."""
    if run.ended or run.state is RunState.CANCELLING:
        return Step(run)
    stage = run.attempt.open_stage
    if stage is None or stage.state is not StageState.WAITING:
        return Step(moved(run, now, state=RunState.RUNNING, reason=None))
    return _issue(moved(run, now, state=RunState.RUNNING, reason=None), stage.name)


def ask_again(run: Run, now: datetime) -> Step:
    """Issues the stage that a waiting Run goes on with, while the Run waits on: the Site's asking tells."""
    stage = run.attempt.open_stage
    if stage is None or stage.state is not StageState.WAITING or run.state is not RunState.WAITING:
        return Step(run)
    return _issue(moved(run, now), stage.name)


def hold(run: Run, reason: WaitReason, now: datetime) -> Step:
    """Says why nothing more is begun for now. What runs, runs on."""
    if run.ended or run.state is RunState.CANCELLING or run.reason == reason.value:
        return Step(run)
    return Step(moved(run, now, state=RunState.WAITING, reason=reason.value, waits_since=now))


def acknowledge(run: Run, command: UUID, said: Acknowledgement, now: datetime) -> Step:
    """Rules 2, 3 and 7. Raises `StepRefused`."""
    if run.cancellation is not None and command in (run.cancellation.command_id, *run.cancellation.earlier):
        return _cancel_said(run, run.cancellation, command, said, now)
    if run.cleanup is not None and command in (run.cleanup.command_id, *run.cleanup.expired):
        return _cleanup_said(run, run.cleanup, command, said, now)
    if any(command in each.expired for each in run.attempt.stages):
        if not said.accepted and said.code == EXPIRED:
            return Step(run)
        raise StepRefused(Refusal.COMMAND_ACKNOWLEDGED)
    stage = _stage_of(run, command)
    if stage.acknowledgement is not None:
        if _same(stage.acknowledgement, said):
            return Step(run)
        raise StepRefused(Refusal.COMMAND_ACKNOWLEDGED)
    if run.ended and stage.outstanding:
        return Step(run)
    known = replace(stage, acknowledgement=said)
    if said.accepted:
        return Step(_staged(run, now, replace(known, state=StageState.SUBMITTED)))
    if said.code == EXPIRED and run.state is not RunState.CANCELLING:
        again = _staged(run, now, replace(stage, state=StageState.WAITING, expired=(*stage.expired, command)))
        later = run.state is RunState.WAITING or stage.issues > REISSUED_AT_ONCE
        return Step(again) if later else _issue(again, stage.name)
    refused = _staged(run, now, replace(known, state=StageState.DONE))
    if run.state is RunState.CANCELLING:
        return _cancelled(refused, now)
    return _end(refused, RunState.FAILED, said.code, now)


def record_result(run: Run, command: UUID, result: Result, now: datetime) -> Step:
    """Rules 1, 2, 4, 5, 6 and 7. Raises `StepRefused`."""
    if run.cleanup is not None and command in (run.cleanup.command_id, *run.cleanup.expired):
        return _cleaned(run, run.cleanup, command, result, now)
    if run.cancellation is not None and command in (run.cancellation.command_id, *run.cancellation.earlier):
        return Step(run)  # what the cancel came to is the stage's own verdict
    stage = _stage_of(run, command)
    if stage.result is not None:
        if replace(stage.result, result_id=result.result_id) == result:
            return Step(run)
        raise StepRefused(Refusal.COMMAND_ACKNOWLEDGED)
    if run.ended and stage.outstanding:
        return Step(run)
    if stage.state is not StageState.SUBMITTED:
        raise StepRefused(Refusal.COMMAND_NOT_ACKNOWLEDGED)
    done = _staged(run, now, replace(stage, state=StageState.DONE, result=result))
    if run.state is RunState.CANCELLING:
        return _cancelled(done, now)
    if result.verdict is not Verdict.COMPLETED:
        return _end(done, _END.get(result.verdict, RunState.FAILED), result.code or _why(stage, result), now)
    following = next((each for each in done.attempt.stages if each.state is StageState.WAITING), None)
    if following is not None:
        return _issue(done, following.name) if done.state is not RunState.WAITING else Step(done)
    if result.output is None:
        return _end(done, RunState.COMPLETED, None, now)
    return Step(done)


def confirm_output(run: Run, found: Output | None, now: datetime) -> Step:
    """Rule 5: `found` is what the Git server has at the Run's ref, None proven absent."""
    awaited = run.output_awaited
    if awaited is None or run.ended:
        return Step(run)
    if found != awaited:
        return _end(run, RunState.FAILED, OUTPUT_UNCONFIRMED, now)
    return _end(replace(run, output=awaited), RunState.COMPLETED, None, now)


def cancel(run: Run, actor: UUID, reason: str | None, now: datetime) -> Step:
    """Asks for the end. Raises `StepRefused` when it is over. Asked again, the first asking stands; the Site
    is asked again only where it refused.
    """
    if run.ended:
        raise StepRefused(Refusal.RUN_ENDED)
    before = run.cancellation
    if before is None:
        return _ask_end(run, Cancellation(actor, reason, now), now)
    if before.refusal is None or before.command_id is None:
        return Step(run)
    earlier = (*before.earlier, before.command_id)
    again = replace(before, earlier=earlier, acknowledged=False, refusal=None, refused_at=None)
    return _ask_end(run, again, now, actor)


def expire(run: Run, now: datetime) -> Step:
    """Ends a Run whose deadline has passed. What only awaits the Git server's word has kept it."""
    if run.ended or run.cancellation is not None or now < run.request.deadline:
        return Step(run)
    if run.output_awaited is not None:
        return Step(run)
    return _ask_end(run, Cancellation(run.created_by, None, now, cause=EndCause.DEADLINE_PASSED), now)


def overdue(run: Run, patience: timedelta, now: datetime) -> Step:
    """Ends a Run whose account or output nobody could confirm for `patience` (E1, S2): what it came to is not
    known, so it failed, and the reason says so.
    """
    if run.state is not RunState.WAITING or run.waits_since is None or now < run.waits_since + patience:
        return Step(run)
    if run.output_awaited is not None:
        return _end(run, RunState.FAILED, OUTPUT_OVERDUE, now)
    if run.reason != WaitReason.ACCOUNT_AWAITING_SITE:
        return Step(run)
    return _ask_end(run, Cancellation(run.created_by, None, now, cause=EndCause.ACCOUNT_UNCONFIRMED), now)


def _ask_end(run: Run, asked: Cancellation, now: datetime, actor: UUID | None = None) -> Step:
    """`actor` asks the Site again, None: who asked for the end."""
    if not any(each.outstanding for each in run.attempt.stages):
        return _cancelled(replace(run, cancellation=asked), now)
    command = command_id(run, "cancel", len(asked.earlier) + 1)
    ordered = replace(asked, command_id=command)
    next_run = moved(run, now, state=RunState.CANCELLING, reason=None, cancellation=ordered)
    action = Cancel(actor or asked.actor, asked.cause.value)
    return Step(next_run, (SiteCommand(command, run.attempt, action),))


def _cancel_said(run: Run, asked: Cancellation, command: UUID, said: Acknowledgement, now: datetime) -> Step:
    """Rule 3. Refused, the Run goes on to its stage's own end, and says so (`reason`)."""
    if command != asked.command_id or asked.acknowledged:
        return Step(run)
    heard = replace(asked, acknowledged=True)
    if said.accepted or run.ended:
        return Step(replace(run, cancellation=heard))
    refused = replace(heard, refusal=said.code, refused_at=now)
    return Step(moved(run, now, reason=said.code, cancellation=refused))


def _cancelled(run: Run, now: datetime) -> Step:
    """The end that was asked for."""
    cause = run.cancellation.cause if run.cancellation is not None else EndCause.MEMBER_ASKED
    return _end(run, ASKED[cause], cause.value, now)


def _issue(run: Run, name: StageName) -> Step:
    stage = next(each for each in run.attempt.stages if each.name is name)
    issues = stage.issues + 1
    command = command_id(run, name.value, issues)
    issued = replace(stage, state=StageState.ISSUED, issues=issues, command_id=command)
    after = _with_stage(run, issued)
    return Step(after, (SiteCommand(command, after.attempt, submit(after, name)),))


def _end(run: Run, state: RunState, reason: str | None, now: datetime) -> Step:
    """Rule 6."""
    ended = moved(run, now, state=state, reason=reason)
    if not any(stage.issues for stage in run.attempt.stages):
        return Step(ended)
    return ask_cleanup(ended, 1, now=None)


def ask_cleanup(run: Run, issue: int, *, now: datetime | None, actor: UUID | None = None) -> Step:
    """Asks the Site for the `issue`th time; `now` None: the revision was counted already."""
    command, before = command_id(run, "cleanup", issue), run.cleanup
    expired = (*before.expired, before.command_id) if before is not None else ()
    asked = Cleanup(command, issues=issue, expired=expired, actor=actor)
    cleaned = replace(run, cleanup=asked) if now is None else moved(run, now, cleanup=asked)
    return Step(cleaned, (SiteCommand(command, cleaned.attempt, CleanUp()),))


def _cleanup_said(run: Run, cleanup: Cleanup, command: UUID, said: Acknowledgement, now: datetime) -> Step:
    if command != cleanup.command_id or cleanup.acknowledged:
        return Step(run)
    if said.accepted:
        return Step(moved(run, now, cleanup=replace(cleanup, acknowledged=True)))
    if said.code == EXPIRED and cleanup.issues <= REISSUED_AT_ONCE:
        return ask_cleanup(run, cleanup.issues + 1, now=now, actor=cleanup.actor)
    refused = replace(cleanup, acknowledged=True, refusal=said.code, refused_at=now)
    return Step(moved(run, now, cleanup=refused))


def _cleaned(run: Run, cleanup: Cleanup, command: UUID, result: Result, now: datetime) -> Step:
    """What an earlier command of it came to was told already; only the latest moves anything."""
    if cleanup.done or command != cleanup.command_id:
        return Step(run)
    if not cleanup.acknowledged:
        raise StepRefused(Refusal.COMMAND_NOT_ACKNOWLEDGED)
    if result.verdict is Verdict.COMPLETED:
        return Step(moved(run, now, cleanup=replace(cleanup, done=True, refusal=None)))
    if cleanup.refusal is not None:
        return Step(run)
    code = result.code or f"cleanup_{result.verdict.value}"
    return Step(moved(run, now, cleanup=replace(cleanup, refusal=code, refused_at=now)))


def _stage_of(run: Run, command: UUID) -> Stage:
    for stage in run.attempt.stages:
        if stage.command_id == command:
            return stage
    raise StepRefused(Refusal.COMMAND_UNKNOWN)


def _same(known: Acknowledgement, said: Acknowledgement) -> bool:
    """A Site that lost our receipt may say it under another ackId; what it says must not differ."""
    return replace(known, ack_id=said.ack_id) == said


def _why(stage: Stage, result: Result) -> str:
    return f"{stage.name.value.replace('-', '_')}_{result.verdict.value}"


def _staged(run: Run, now: datetime, stage: Stage) -> Run:
    return moved(_with_stage(run, stage), now)


def _with_stage(run: Run, stage: Stage) -> Run:
    stages = tuple(stage if each.name is stage.name else each for each in run.attempt.stages)
    return replace(run, attempts=(*run.attempts[:-1], replace(run.attempt, stages=stages)))


def moved(run: Run, now: datetime, **changes: object) -> Run:
    """The next revision. Whoever does not wait has no time since when."""
    if "state" in changes:
        changes.setdefault("waits_since", None)
    return replace(run, changed_at=now, revision=run.revision + 1, **changes)  # type: ignore[arg-type]
