"""What Runs need of others, and of their own store. Whatever cannot be read is `Unavailable`, never a no."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID, uuid5

from central.execution.domain.command import COMMANDS, Action
from central.execution.domain.maintenance import Statement
from central.execution.domain.permission import Permission
from central.execution.domain.planning import Resource
from central.execution.domain.progress import Step
from central.execution.domain.run import Identity, Run, WaitReason
from central.kernel.aggregates import request_digest
from central.kernel.errors import Unavailable
from central.kernel.site_feed import FeedPage


@dataclass(frozen=True, slots=True)
class Authority:
    """Beto's decision and how long it holds."""

    allowed: bool
    management_generation: int
    valid_until: datetime


class Authorities(Protocol):
    """Beto."""

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        """Asks now. `Unavailable` when nobody answers."""
        ...


class Planning(Protocol):
    """The Project's live allocations at a Site (P31)."""

    def resources(self, project: UUID, site: str) -> Sequence[Resource]:
        """Every one that is not retired."""
        ...


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose account: a member of a Project at a Site, under the Project's present management generation."""

    project: UUID
    party: UUID
    site: str
    management_generation: int


@dataclass(frozen=True, slots=True)
class Account:
    """The account new work runs as, and when its Site saw it."""

    identity: Identity
    observed_at: datetime


class AccountAwaits(Exception):
    """The Site has not confirmed the account; `reason` is the member's to read (P24)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AccountSeveral(Exception):
    """Several accounts fit."""


class AccountChanged(Exception):
    """The saved account is not the one the Site confirms any more: the Run never acts as another (E1)."""


class Accounts(Protocol):
    """Native accounts (P24, P26)."""

    def for_new_work(self, holder: Holder, resource: Resource, now: datetime) -> Account | None:
        """The one account, None for who provably has none. `AccountAwaits`, `AccountSeveral`."""
        ...

    def confirmed_at(self, run: Run, now: datetime) -> datetime:
        """When the Site last confirmed exactly the Run's identity. `AccountAwaits`, `AccountChanged`."""
        ...


@dataclass(frozen=True, slots=True)
class MemberToken:
    """A member's own token for one Site's Slurm. Never logged, never stored in the clear (E5)."""

    token: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"MemberToken(expires_at={self.expires_at})"


class ConsentExpired(Exception):
    """The member's offline consent has ended; only the member can renew it."""


class MemberTokens(Protocol):
    """Members' tokens from their offline consents (E5)."""

    def token(self, party: UUID, site: str, now: datetime) -> MemberToken:
        """A token that is valid now. `ConsentExpired`, `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class RepositoryCredential:
    """Opens one repository, for one stage."""

    username: str
    password: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"RepositoryCredential({self.username!r}, expires_at={self.expires_at})"


class PeerSilent(Unavailable):
    """Not even the head of an answer came, or not in time: whoever asks there next would wait as long."""


class RepositoryRefused(Exception):
    """Who gives out the Git host's credentials says definitely no; `reason` is the member's to read (S2)."""

    def __init__(self, reason: WaitReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class RepositoryCredentials(Protocol):
    """Credentials of the Git host (S2)."""

    def issue(self, run: Run, purpose: str, *, write_ref: str | None, now: datetime) -> RepositoryCredential:
        """One for the Run's repository, in place of an earlier one of the same purpose (a stage's name, or
        what else); with `write_ref` it may write that ref alone. `RepositoryRefused`, `Unavailable`.
        """
        ...


class Audit(Protocol):
    """Who used which permission (E7)."""

    def note(self, subject: UUID, permission: Permission, actor: UUID, now: datetime) -> None:
        """Keeps a use of `permission` on a Run, or on a Project's Runs. `Unavailable`: it may not go on."""
        ...


class Maintenance(Protocol):
    """What Sites say of their availability (S15)."""

    def of(self, site: str) -> Statement | None:
        """The Site's latest statement, None if it never made one."""
        ...

    def state(self, site: str, statement: Statement, now: datetime) -> bool:
        """Keeps a statement unless a later one is there; whether it changed anything. `COMMAND_REUSED`."""
        ...


class Sites(Protocol):
    """What is known of Sites as places to run."""

    def known(self, site: str) -> bool:
        """Whether there is such a Site."""
        ...

    def qualified(self, site: str) -> bool:
        """Whether execution is open there: it reports itself and was qualified (P36)."""
        ...


class SiteNotQualified(Exception):
    """Execution is paused there (P36)."""


class RunUnknown(Exception):
    """No such Run of this Project, or no such command of this Site."""


class AttemptMismatch(Exception):
    """A Site names another Attempt than the command's."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A Run as it stands after a command; `repeated` when the command had been recorded before."""

    run: Run
    repeated: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A command in its place in the Site's feed, with the Run it moves."""

    sequence: int
    command_id: UUID
    issued_at: datetime
    action: Action
    attempt_id: UUID
    run: Run


CommandPage = FeedPage[Listed]
"""A part of a Site's feed of commands."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs of a Project, newest first; `next` names the last one when more follow."""

    runs: tuple[Run, ...]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class StoreCommand:
    """What asks for a change: `digest` covers everything it asks for (X7)."""

    id: UUID
    digest: bytes

    @classmethod
    def named(cls, words: str) -> "StoreCommand":
        """What central decides of its own accord: the same words are the same command."""
        return cls(uuid5(COMMANDS, words), request_digest(words.encode()))


class Runs(Protocol):
    """The store. Each change is one transaction: receipt, version, row, commands, news."""

    def recorded(self, command: StoreCommand) -> Run | None:
        """The Run an earlier try of this command made or moved, as it stands now."""
        ...

    def add(self, command: StoreCommand, step: Step) -> Saved:
        """Saves a new Run with its first commands."""
        ...

    def move(self, command: StoreCommand, run_id: UUID, step: Callable[[Run], Step], now: datetime) -> Saved:
        """Moves a Run. What `step` raises changes nothing. `RunUnknown`."""
        ...

    def by_id(self, run_id: UUID) -> Run | None:
        """The Run, None proven absent."""
        ...

    def of_project(self, project: UUID, after: UUID | None, limit: int) -> RunPage:
        """A page. `RunUnknown` for an `after` that is no Run of this Project."""
        ...

    def run_of_command(self, site: str, command: UUID) -> UUID:
        """Which Run a Site's command moves. `RunUnknown`."""
        ...

    def commands(self, site: str, after: int, limit: int, *, unacknowledged: bool) -> CommandPage:
        """A page of the Site's feed. `PositionUnknown` for an `after` above its head."""
        ...
