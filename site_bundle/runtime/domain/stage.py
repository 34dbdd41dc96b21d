"""One stage's command from received to its end: every step a pure decision (S1, S2, E2).

received → (identity checked) → intent → submitted → ended; or refused.

1. The intent is journalled before sbatch is run. From then on the marker decides what happened, not the
   answer.
2. "No such job" counts only in a look begun a grace after the intent: accounting lags (A32), and an answer
   that was lost may still be acted on (A33). Then the command is as it was when it was received.
3. A job that is known ends by accounting alone, and only while the queue does not show it active (A11).
4. A known job that neither source has, for a grace, is lost. Before that, and without both sources, one
   waits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from site_bundle.runtime.domain.command import Command, Identity
from site_bundle.runtime.domain.jobs import JobRef, Look, Ours, ours
from site_bundle.runtime.domain.marker import marker_of
from site_bundle.runtime.domain.verdict import MAY_REQUEUE, End, Usage, Verdict, end_of, is_final, latest

EXPIRED = "command_expired"
IDENTITY_CHANGED = "identity_changed"
CLOSING = "attempt_cancelled"
NOT_UNDERSTOOD = "command_not_understood"
NOT_ACCOUNTED = "not_in_accounting"


class State(StrEnum):
    """Where a command stands in the journal."""

    RECEIVED = "received"
    INTENT = "intent"
    SUBMITTED = "submitted"
    REFUSED = "refused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Graces:
    """How long each doubt is given (S12)."""

    lookup: timedelta = timedelta(seconds=180)
    requeue: timedelta = timedelta(seconds=60)
    missing: timedelta = timedelta(seconds=900)


@dataclass(frozen=True, slots=True)
class Stage:
    """A submit command and how far it came. `missing_since`: neither source had the known job at that
    look.
    """

    command: Command
    state: State = State.RECEIVED
    intent_at: datetime | None = None
    job: JobRef | None = None
    missing_since: datetime | None = None
    code: str | None = None
    end: End | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """What this host says of a user name: getpwnam(3)."""

    uid_number: int
    home: str


def why_not_begun(stage: Stage, now: datetime, *, closing: bool) -> str | None:
    """The code under which a received command is refused before anything is asked, or None."""
    if closing:
        return CLOSING
    return EXPIRED if now > stage.command.valid_until else None


def identity_stands(identity: Identity, account: Account | None, associations: Collection[int]) -> bool:
    """Whether name, number and association are still the saved ones (E1). `associations`: ids of this user in
    this account.
    """
    if account is None or account.uid_number != identity.uid_number:
        return False
    return is_associated(identity, associations)


def is_associated(identity: Identity, associations: Collection[int]) -> bool:
    """Whether the saved association is still one of this user in this account."""
    _, slash, number = identity.native_uid.rpartition("/")
    return bool(slash) and number.isascii() and number.isdecimal() and int(number) in associations


def intend(stage: Stage, now: datetime) -> Stage:
    """Rule 1."""
    return replace(stage, state=State.INTENT, intent_at=now, missing_since=None)


def submitted(stage: Stage, job: JobRef) -> Stage:
    return replace(stage, state=State.SUBMITTED, job=job, missing_since=None)


def refused(stage: Stage, code: str) -> Stage:
    return replace(stage, state=State.REFUSED, code=code)


def ended(stage: Stage, end: End) -> Stage:
    return replace(stage, state=State.ENDED, end=end)


def seen(stage: Stage, look: Look) -> Ours:
    """What the look has of this stage; nothing before there was an intent."""
    if stage.intent_at is None:
        return Ours((), ())
    return ours(
        look,
        marker=marker_of(stage.command),
        uid=stage.command.identity.uid_number,
        intent_at=stage.intent_at,
        job=stage.job,
    )


def after_look(stage: Stage, look: Look, graces: Graces, *, cluster: str) -> Stage:
    """The stage after a look; the very same one when there is nothing to say. `cluster`: the configured
    one.
    """
    if stage.state is State.INTENT:
        return _looked_up(stage, look, graces, cluster)
    if stage.state is State.SUBMITTED:
        return _observed(stage, look, graces)
    return stage


def _looked_up(stage: Stage, look: Look, graces: Graces, cluster: str) -> Stage:
    found = seen(stage, look)
    if found.job_ids:
        return submitted(stage, _reference(found, found.job_ids[0], cluster))
    if stage.intent_at is None or look.at - stage.intent_at < graces.lookup:
        return stage
    return replace(stage, state=State.RECEIVED, intent_at=None)


def _reference(found: Ours, job_id: str, cluster: str) -> JobRef:
    runs = [run for run in found.runs if run.job_id == job_id]
    times = [item.submitted_at for item in found.sightings if item.job_id == job_id]
    return JobRef(job_id, runs[0].cluster if runs else cluster, min(times))


def _observed(stage: Stage, look: Look, graces: Graces) -> Stage:
    found = seen(stage, look)
    stage = _dated(stage, found)
    if any(job.active for job in found.queue):
        return _present(stage)
    if not found.runs:
        return _unaccounted(stage, found, look, graces)
    last = latest(found.runs)
    if any(run.faulty for run in found.runs) or not is_final(last):
        # The queue has forgotten it and accounting has no end: a lag, or an end nobody wrote down.
        return _present(stage) if found.queue or last.faulty else _missing(stage, look, graces)
    if last.state in MAY_REQUEUE and last.ended_at is not None and look.at - last.ended_at < graces.requeue:
        return _present(stage)
    return ended(_present(stage), end_of(found.runs))


def _dated(stage: Stage, found: Ours) -> Stage:
    """A job known by sbatch's answer gets its time of submission from the first look that has it."""
    times = [item.submitted_at for item in found.sightings]
    if stage.job is None or stage.job.submitted_at is not None or not times:
        return stage
    return replace(stage, job=replace(stage.job, submitted_at=min(times)))


def _present(stage: Stage) -> Stage:
    return stage if stage.missing_since is None else replace(stage, missing_since=None)


def _unaccounted(stage: Stage, found: Ours, look: Look, graces: Graces) -> Stage:
    """Accounting does not show a job that was cancelled before it was ever eligible; the queue does for a
    while.
    """
    if not found.queue:
        return _missing(stage, look, graces)
    if stage.missing_since is None:
        return replace(stage, missing_since=look.at)
    if any(job.state != "CANCELLED" for job in found.queue) or look.at - stage.missing_since < graces.lookup:
        return stage
    return ended(stage, End(Verdict.CANCELLED, usage=Usage(0, {})))


def _missing(stage: Stage, look: Look, graces: Graces) -> Stage:
    """Rule 4."""
    if stage.missing_since is None:
        return replace(stage, missing_since=look.at)
    if look.at - stage.missing_since < graces.missing:
        return stage
    return ended(stage, End(Verdict.LOST, code=NOT_ACCOUNTED))
