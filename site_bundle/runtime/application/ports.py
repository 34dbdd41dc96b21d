"""What the use cases need of the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.runtime.domain.command import Command, Identity
from site_bundle.runtime.domain.feed import FeedState, Page
from site_bundle.runtime.domain.jobs import AccountedRun, QueuedJob
from site_bundle.runtime.domain.resources import Asked
from site_bundle.runtime.domain.script import Grant
from site_bundle.runtime.domain.stage import Account, Stage
from site_bundle.runtime.domain.verdict import Output


@dataclass(frozen=True, slots=True)
class RepositoryCredential:
    """Opens one repository, for one stage. Never journalled, logged or kept."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class MemberToken:
    """The acting member's own token, for one submission."""

    token: str = field(repr=False)
    valid_until: datetime
    credential: RepositoryCredential | None


class CommandsApi(Protocol):
    """central's half of the commands. Every call raises SiteError."""

    def commands(self, *, after: int, wait: int, limit: int) -> Page:
        """PositionUnknownError when the history ends before `after`."""

    def unacknowledged(self, *, after: int, limit: int) -> Page: ...

    def member_token(self, command_id: UUID, attempt_id: UUID) -> MemberToken: ...

    def send(self, word: Word) -> None:
        """Delivers one word; returns when central has it."""

    def state_maintenance(self, body: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Word:
    """An acknowledgement or a result, prepared once: its bytes are never made again."""

    command_id: UUID
    kind: str  # ack or result
    body: bytes


@dataclass(frozen=True, slots=True)
class Closing:
    """A cancel or cleanup command that is not done."""

    command: Command


@dataclass(frozen=True, slots=True)
class DrainRequest:
    """What an administrator said (S15)."""

    draining: bool
    until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What of a page was new: how many commands are kept, and those that are refused by name."""

    added: int
    refused: tuple[UUID, ...]


class Journal(Protocol):
    """Each method is one durable transaction; all raise UnavailableError."""

    def feed_state(self) -> FeedState: ...

    def record_page(self, page: Page, *refusals: Word, advance: bool, now: datetime) -> Recorded:
        """New commands are kept; known ones that were not begun get their later `valid_until`.
        `refusals` speak of commands that are not kept: of one that is, or was refused, it is not said
        again, and one that was refused is never kept.
        """

    def switch_feed(self, feed: UUID | None) -> None:
        """Another history, or (None) one that does not know our position: nothing is begun any more."""

    def stages(self) -> tuple[Stage, ...]:
        """Open stages, in order of their sequence."""

    def closings(self) -> tuple[Closing, ...]:
        """Cancels and cleanups that are not done, in order of their sequence."""

    def stages_of(self, attempt_id: UUID) -> tuple[Stage, ...]:
        """Open stages of one Attempt."""

    def is_closing(self, attempt_id: UUID) -> bool:
        """Whether a cancel or cleanup of the Attempt was ever received."""

    def save(self, stage: Stage, *words: Word) -> None:
        """The stage as it is now, and what central is to be told of it."""

    def close(self, command_id: UUID, *words: Word) -> None:
        """A cancel or cleanup is done."""

    def waiting_words(self, limit: int) -> tuple[Word, ...]:
        """Undelivered words, an acknowledgement before its result, the oldest first."""

    def delivered(self, word: Word, *, refusal: str | None) -> None:
        """central has it, or refused it for good under a code."""

    def acknowledge_anew(self, command_id: UUID) -> None:
        """An acknowledgement that was delivered is delivered again."""

    def salt(self) -> str: ...

    def put_statement(self, body: bytes, *, draining: bool) -> None: ...

    def open_statement(self) -> bytes | None: ...

    def close_statement(self) -> None: ...

    def is_draining(self) -> bool: ...


class Accounts(Protocol):
    """Who a user name is here, and what accounting lets them use. UnavailableError."""

    def account(self, username: str) -> Account | None: ...

    def associations(self, identity: Identity) -> frozenset[int]: ...

    def is_of_platform(self, account: str) -> bool:
        """Whether the account is the platform's parent account or stands below it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is submitted. The script holds no credential; `secrets` go through the pipe alone."""

    marker: str
    account: str
    partition: str
    asked: Asked
    script: str
    environment: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Accepted:
    """sbatch named the job; `cluster` if it said so."""

    job_id: str
    cluster: str | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A definite rejection by name (S12)."""

    code: str


class UnknownOutcome:
    """Anything else: the marker tells."""


Outcome = Accepted | Rejected | UnknownOutcome


class Submission(Protocol):
    """sbatch as the member. Never raises for what Slurm did: that is an outcome."""

    def submit(self, job: Job, token: MemberToken) -> Outcome: ...


class Cluster(Protocol):
    """Queue, accounting and cancelling as the coordinator. UnavailableError."""

    def queue(self, accounts: Sequence[str]) -> tuple[QueuedJob, ...]: ...

    def accounting(
        self, accounts: Sequence[str], since: datetime | None, jobs: Sequence[str]
    ) -> tuple[AccountedRun, ...]:
        """Runs in these accounts since an instant, and of these jobs whenever."""

    def cancel(self, job_id: str) -> None:
        """Asked to end, or gone already. UnavailableError otherwise."""


class Grants(Protocol):
    """The Runtime's own folder on the shared file system (S4). UnavailableError."""

    def grant(self, attempt_id: UUID, url: str) -> Grant: ...

    def prepare(self, grant: Grant, url: str) -> None:
        """Helper, CA and drop folder are there, as they must be; done again it changes nothing."""

    def output(self, attempt_id: UUID, command_id: UUID, uid: int) -> Output | None:
        """What the stage's job left, if it is this user's. None: proven not there, or nothing that can be
        read as a result.
        """

    def release(self, attempt_id: UUID) -> None:
        """Nothing of the Attempt is left; done again it changes nothing."""
