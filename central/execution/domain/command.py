"""What central asks of a Site: one command a native action (E3)."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from central.execution.domain.request import (
    LARGE_FILE_BYTES,
    STAGING,
    STAGING_SECONDS,
    Repository,
)
from central.execution.domain.run import Attempt, Run, StageName

COMMANDS: Final = UUID("6f5c4a16-0b7b-5f37-9d0e-6d9f3a1f7a52")
"""Namespace of command ids: a command decided again has the same id, so nothing is applied twice."""


@dataclass(frozen=True, slots=True)
class Compute:
    """What the compute stage runs."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What stage-out commits, and where; files of at least `large_file_bytes` by LFS."""

    paths: tuple[str, ...]
    ref: str
    large_file_bytes: int


@dataclass(frozen=True, slots=True)
class Submit:
    """One job of the chain."""

    stage: StageName
    resources: tuple[tuple[str, int], ...]
    time_limit_seconds: int
    repository: Repository | None
    compute: Compute | None
    outputs: Outputs | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The job of the attempt ends. `actor` is for the audit."""

    actor: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The attempt's grant is released."""


Action = Submit | Cancel | CleanUp


@dataclass(frozen=True, slots=True)
class SiteCommand:
    """A command before it has its place in the Site's feed."""

    command_id: UUID
    attempt: Attempt
    action: Action


def command_id(run: Run, act: str, issue: int) -> UUID:
    """The id follows from what is asked: Run, attempt, act, and how often it was asked."""
    return uuid5(COMMANDS, f"{run.run_id}/{run.attempt.number}/{act}/{issue}")


def credential_id(run: Run, purpose: str) -> UUID:
    """One credential of the Git host a Run, attempt and purpose (S2)."""
    return uuid5(COMMANDS, f"credential {run.run_id}/{run.attempt.number}/{purpose}")


def runs_ref(run_id: UUID) -> str:
    """Where a Run's outputs go (S2)."""
    return f"refs/heads/pharos/runs/{run_id}"


def submit(run: Run, name: StageName) -> Submit:
    """What a stage of this Run is."""
    wanted, staging = run.request, tuple(sorted(STAGING.items()))
    if name is StageName.COMPUTE:
        compute = Compute(wanted.argv, wanted.environment)
        return Submit(name, wanted.resources, wanted.time_limit_seconds, None, compute, None)
    if name is StageName.STAGE_IN:
        return Submit(name, staging, STAGING_SECONDS, wanted.repository, None, None)
    outputs = Outputs(wanted.outputs, runs_ref(run.run_id), LARGE_FILE_BYTES)
    return Submit(name, staging, STAGING_SECONDS, wanted.repository, None, outputs)
