"""Commands, jobs and looks as tests want them; one clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from site_bundle.runtime.domain.command import (
    Cancel,
    CleanUp,
    Command,
    Compute,
    Identity,
    Outputs,
    Repository,
    StageName,
    Submit,
)
from site_bundle.runtime.domain.jobs import AccountedRun, JobRef, Look, QueuedJob
from site_bundle.runtime.domain.marker import marker_of
from site_bundle.runtime.domain.stage import Stage, State, intend, submitted

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
UID = 5000001
ALICE = Identity("alice", UID, "5f1c9a30-0000-1040-8000-000000000001/42", "proj_a")
URL = "https://git.example.org:8443/group/work.git"
RUN = UUID(int=0x201)
REF = f"refs/heads/pharos/runs/{RUN}"
REPOSITORY = Repository(URL, "0" * 40)
RESOURCES = {"cpu": 2000, "memory": 1 << 30}


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def action(stage: StageName = StageName.COMPUTE) -> Submit:
    compute = Compute(("true",), {"A": "1"}) if stage is StageName.COMPUTE else None
    outputs = Outputs(("result.txt",), REF, 1 << 20) if stage is StageName.STAGE_OUT else None
    repository = None if compute else REPOSITORY
    return Submit(stage, RESOURCES, 600, repository, compute, outputs)


def command(number: int = 1, what: Submit | Cancel | CleanUp | None = None, **changes: Any) -> Command:
    made = Command(
        number, UUID(int=0x300 + number), NOW, after(60), RUN, UUID(int=0x202), 1, ALICE, what or action()
    )
    return replace(made, **changes)


COMMAND = command()
MARKER = marker_of(COMMAND)
RECEIVED = Stage(COMMAND)
INTENT = intend(RECEIVED, NOW)
SUBMITTED = submitted(INTENT, JobRef("7", "icarus", after(1)))


def stage(state: State, what: Submit | None = None) -> Stage:
    """The same with another action."""
    base = {State.RECEIVED: RECEIVED, State.INTENT: INTENT, State.SUBMITTED: SUBMITTED}[state]
    return replace(base, command=command(1, what))


def queued(state: str = "RUNNING", **changes: Any) -> QueuedJob:
    return replace(QueuedJob("7", UID, state, after(1), MARKER, MARKER), **changes)


def run(state: str = "COMPLETED", **changes: Any) -> AccountedRun:
    made = AccountedRun(
        job_id="7", cluster="icarus", uid=UID, name=MARKER, state=state, exit_code=0, signal=0,
        submitted_at=after(1), started_at=after(2), ended_at=after(12), elapsed=10,
        allocated=(("cpu", 2000), ("memory", 1 << 30)),
    )  # fmt: skip
    return replace(made, **changes)


def look(*found: QueuedJob | AccountedRun, at: float = 20) -> Look:
    queue = [item for item in found if isinstance(item, QueuedJob)]
    return Look(after(at), queue, [item for item in found if isinstance(item, AccountedRun)])
