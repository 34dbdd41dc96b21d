"""A Run, its attempts and their stages (S1, S2, E1): what is saved, as values."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from central.execution.domain.request import RunRequest


class RunState(StrEnum):
    """What a member is shown. The last four are ends."""

    ACCEPTED = "accepted"
    WAITING = "waiting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT})


class WaitReason(StrEnum):
    """Why a Run waits; each ends by itself or by the member."""

    CONSENT_EXPIRED = "consent_expired"
    SITE_MAINTENANCE = "site_maintenance"
    ACCOUNT_AWAITING_SITE = "account_awaiting_site"
    RESOURCE_SUSPENDED = "resource_suspended"
    AUTHORITY_REFUSED = "authority_refused"
    REPOSITORY_UNKNOWN = "repository_unknown"
    REPOSITORY_REFUSED = "repository_refused"
    OUTPUT_AWAITING_GIT = "output_awaiting_git"


class EndCause(StrEnum):
    """Why a Run is made to end."""

    MEMBER_ASKED = "member_asked"
    DEADLINE_PASSED = "deadline_passed"
    ACCOUNT_UNCONFIRMED = "account_unconfirmed_in_time"


class StageName(StrEnum):
    """The member-owned chain, in order (S2)."""

    STAGE_IN = "stage-in"
    COMPUTE = "compute"
    STAGE_OUT = "stage-out"


class StageState(StrEnum):
    """Where a stage stands. A stage is issued when the verdict before it is in."""

    WAITING = "waiting"
    ISSUED = "issued"
    SUBMITTED = "submitted"
    DONE = "done"


class Verdict(StrEnum):
    """The definite end of a stage; an unreachable accounting database is none."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Identity:
    """The exact account the Run was accepted for (E1). It never changes; a Site whose account differs
    refuses.

    `account` is the Slurm account of the allocation; `native_uid` the Site's immutable id.
    """

    username: str
    uid_number: int
    native_uid: str
    account: str
    binding_id: UUID
    generation: int
    management_generation: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Elapsed seconds and AllocTRES of all runs of the stage's job, exact."""

    elapsed_seconds: int
    allocated: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What stage-out says it pushed; true only once the Git server says so too (S2)."""

    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a Site observed of a stage that has ended."""

    result_id: UUID
    observed_at: datetime
    verdict: Verdict
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    usage: Usage | None = None
    output: Output | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The job id is journalled, or the definite refusal is. `job_id` stands with every accepted stage."""

    ack_id: UUID
    accepted: bool
    job_id: str | None = None
    cluster: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of an attempt. `issues` counts how often it was asked for: one that ran out of its validity
    before it was begun is asked for again under a new command; `expired` are the earlier ones.
    """

    name: StageName
    state: StageState = StageState.WAITING
    issues: int = 0
    command_id: UUID | None = None
    acknowledgement: Acknowledgement | None = None
    result: Result | None = None
    expired: tuple[UUID, ...] = ()

    @property
    def outstanding(self) -> bool:
        """The Site owes a word about it."""
        return self.state in (StageState.ISSUED, StageState.SUBMITTED)


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Who asked for the end (E7: another authorised member may), and the command that asks the Site.

    A deadline that passed was set by who created the Run: it is that member's own word. `refusal` says why
    the Site did not take the command, and stands until it is asked again; `earlier` are commands it refused.
    """

    actor: UUID
    reason: str | None
    asked_at: datetime
    command_id: UUID | None = None
    acknowledged: bool = False
    cause: EndCause = EndCause.MEMBER_ASKED
    earlier: tuple[UUID, ...] = ()
    refusal: str | None = None
    refused_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """An operator's word that nothing is left at the Site, instead of the Site's own (P28, S11)."""

    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The last command: grant, helper and CA go; never a member's file (S4).

    `refusal` says why the Site did not do it, and stands until it is asked again or settled; `expired` are
    earlier commands of it. `actor` asked for it again; None: central asked, as it does once a Run. No
    `issues`: the Site was never asked, an operator's word stands instead.
    """

    command_id: UUID
    acknowledged: bool = False
    done: bool = False
    issues: int = 1
    expired: tuple[UUID, ...] = ()
    refusal: str | None = None
    refused_at: datetime | None = None
    actor: UUID | None = None
    settlement: Settlement | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """How an earlier attempt ended: the Run's own words of then, and the revision they were said at."""

    state: RunState
    reason: str | None
    revision: int
    cancellation: Cancellation | None
    cleanup: Cleanup | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pass over the chain; a retry is another attempt, with a workspace and credentials of its own.

    `asked_by` is who asked for the retry (None: the first one, the creator's); `past` is there once another
    attempt follows.
    """

    attempt_id: UUID
    number: int
    stages: tuple[Stage, ...]
    asked_by: UUID | None = None
    asked_at: datetime | None = None
    past: Past | None = None

    @property
    def open_stage(self) -> Stage | None:
        """The first stage without a verdict, None once every stage is done."""
        return next((each for each in self.stages if each.state is not StageState.DONE), None)


@dataclass(frozen=True, slots=True)
class Run:
    """One version of a Run. `revision` counts changes a member can see, from 1. `cancellation`, `cleanup` and
    `output` are the latest attempt's; `waits_since` is when its present reason to wait began.
    """

    run_id: UUID
    request: RunRequest
    allocation_id: UUID
    identity: Identity
    created_by: UUID
    created_at: datetime
    changed_at: datetime
    state: RunState
    reason: str | None
    attempts: tuple[Attempt, ...]
    cancellation: Cancellation | None = None
    cleanup: Cleanup | None = None
    output: Output | None = None
    revision: int = 1
    waits_since: datetime | None = None

    @property
    def ended(self) -> bool:
        """Nothing but the cleanup follows."""
        return self.state in ENDED

    @property
    def released(self) -> bool:
        """Nothing at the Site needs the account any more: its accepted work is released (P27)."""
        return self.ended and (self.cleanup is None or self.cleanup.done)

    @property
    def settled(self) -> bool:
        """Its end is whole: no command of the latest attempt is left without the Site's word, or that of an
        operator instead.
        """
        asked = self.cancellation
        told = asked is None or asked.command_id is None or asked.acknowledged
        return self.released and told

    @property
    def attempt(self) -> Attempt:
        """The one that counts: the latest."""
        return self.attempts[-1]

    @property
    def output_awaited(self) -> Output | None:
        """What the Git server still has to confirm; None when there is nothing to confirm."""
        last = self.attempt.stages[-1].result
        return last.output if last is not None and not self.ended else None
