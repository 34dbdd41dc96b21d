"""A new Run (E1, E4): everything it will ever act as is fixed here."""

from datetime import datetime
from uuid import UUID, uuid5

from central.execution.domain.attempts import new_attempt
from central.execution.domain.command import COMMANDS
from central.execution.domain.progress import Step, begin, hold
from central.execution.domain.request import RunRequest
from central.execution.domain.run import Identity, Run, RunState, WaitReason


def run_id_of(command: UUID, project: UUID) -> UUID:
    """The Run's id follows from the command, so that the same one again is the same Run."""
    return uuid5(COMMANDS, f"run {project} {command}")


def accept(
    run_id: UUID,
    request: RunRequest,
    allocation_id: UUID,
    *,
    identity: Identity,
    member: UUID,
    now: datetime,
    held: WaitReason | None = None,
) -> Step:
    """The accepted Run with its first command; without one while it is `held`."""
    run = Run(
        run_id=run_id,
        request=request,
        allocation_id=allocation_id,
        identity=identity,
        created_by=member,
        created_at=now,
        changed_at=now,
        state=RunState.ACCEPTED,
        reason=None,
        attempts=(new_attempt(run_id, 1),),
        revision=0,
    )
    return begin(run, now) if held is None else hold(run, held, now)
