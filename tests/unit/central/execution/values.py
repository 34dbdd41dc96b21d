"""Runs for tests of the domain."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.progress import Step
from central.execution.domain.request import Repository, RunRequest
from central.execution.domain.run import Acknowledgement, Identity, Output, Result, Verdict

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MEMBER, OTHER = UUID(int=1), UUID(int=2)
REQUEST = RunRequest(
    project_id=UUID(int=10),
    site="slurm",
    allocation_id=None,
    repository=Repository("https://git.example.org/g/p.git", "a" * 40),
    argv=("true",),
    environment=(),
    resources=(("cpu", 2000), ("memory", 1 << 30)),
    time_limit_seconds=60,
    outputs=("out.txt",),
    deadline=NOW + timedelta(hours=1),
)
IDENTITY = Identity("alice", 5000001, "e/1", "p1", UUID(int=20), 1, 1)


def new_run() -> Step:
    return accept(
        run_id_of(UUID(int=30), REQUEST.project_id),
        REQUEST,
        UUID(int=40),
        identity=IDENTITY,
        member=MEMBER,
        now=NOW,
    )


def accepted(job: str = "1") -> Acknowledgement:
    return Acknowledgement(uuid4(), True, job, "icarus")


def refused(code: str) -> Acknowledgement:
    return Acknowledgement(uuid4(), False, code=code)


def ended(verdict: Verdict = Verdict.COMPLETED, *, output: Output | None = None) -> Result:
    exit_code = 0 if verdict is Verdict.COMPLETED else 1
    return Result(uuid4(), NOW, verdict, exit_code=exit_code, output=output)


def late(request: RunRequest, **changes: object) -> RunRequest:
    return replace(request, **changes)  # type: ignore[arg-type]
