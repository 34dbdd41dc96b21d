"""A command of central as the Runtime holds it (docs/wire.md "Site API: commands"; E3, S2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class StageName(StrEnum):
    """The three jobs of an Attempt, in their order."""

    STAGE_IN = "stage-in"
    COMPUTE = "compute"
    STAGE_OUT = "stage-out"


@dataclass(frozen=True, slots=True)
class Identity:
    """The saved account (E1). `native_uid` is `<entryUUID>/<association id>`."""

    username: str
    uid_number: int
    native_uid: str
    account: str


@dataclass(frozen=True, slots=True)
class Repository:
    """An HTTPS URL without user, query and fragment, and the exact commit."""

    url: str
    commit: str


@dataclass(frozen=True, slots=True)
class Compute:
    """The member's own words and environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Relative paths, the Run's ref, and the size in bytes from which a file goes to LFS."""

    paths: tuple[str, ...]
    ref: str
    large_file_bytes: int


@dataclass(frozen=True, slots=True)
class Submit:
    """One job. `resources` in canonical units (X3)."""

    stage: StageName
    resources: Mapping[str, int]
    time_limit_seconds: int
    repository: Repository | None
    compute: Compute | None
    outputs: Outputs | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Every job of the Attempt ends. `actor` is for the audit (E7)."""

    actor: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The Attempt's helper, CA and drop folder go; never a member's file (S4)."""


@dataclass(frozen=True, slots=True)
class Command:
    """One native action. Past `valid_until` it is not begun (E2)."""

    sequence: int
    command_id: UUID
    issued_at: datetime
    valid_until: datetime
    run_id: UUID
    attempt_id: UUID
    attempt: int
    identity: Identity
    action: Submit | Cancel | CleanUp

    @property
    def submit(self) -> Submit:
        """The action of a stage. TypeError for another command: a bug."""
        if not isinstance(self.action, Submit):
            raise TypeError("only a stage has a job")
        return self.action


@dataclass(frozen=True, slots=True)
class Foreign:
    """A command whose form is not this version's: refused by its name, never begun, never guessed at."""

    sequence: int
    command_id: UUID
    attempt_id: UUID
