"""What the passes over Runs need of others (P27, P29, S2). What cannot be read is `Unavailable`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.execution.application.ports import RepositoryCredential
from central.execution.domain.run import Run


@dataclass(frozen=True, slots=True)
class GivenCredential:
    """A credential of the Git host that may still open something."""

    credential_id: UUID
    run_id: UUID
    purpose: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """What all accepted work was when it was asked for: its number and fingerprint, kept under an id."""

    snapshot_id: UUID
    count: int
    fingerprint: str


class RunPasses(Protocol):
    """Which Runs a pass has to look at. Each list is in a fixed order and holds at most `limit`."""

    def live(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Runs that have not ended, by id."""
        ...

    def past_deadline(self, now: datetime, limit: int) -> Sequence[UUID]:
        """Runs whose deadline has passed and that are not ending yet, the oldest deadline first."""
        ...

    def awaiting_output(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Those whose output the Git server has still to confirm, by id."""
        ...

    def unpublished(self, limit: int) -> Sequence[tuple[UUID, int]]:
        """Runs whose latest revision was not published, each with the one that was (0: none)."""
        ...

    def published(self, revisions: Sequence[tuple[UUID, int]]) -> None:
        """Remembers that these were published at these revisions."""
        ...


class WorkInventory(Protocol):
    """All accepted work as it stood when it was asked for (P29)."""

    def take(self, snapshot_id: UUID, now: datetime) -> Inventory:
        """Keeps every item as it stands under a new snapshot."""
        ...

    def page(self, snapshot_id: UUID, after: UUID | None, limit: int) -> Sequence[tuple[UUID, bytes]] | None:
        """Items above `after` in ascending order, None if there is no such snapshot (any more)."""
        ...


class GitRefs(Protocol):
    """A Git server, asked for one ref."""

    def commit_of(self, url: str, ref: str, credential: RepositoryCredential) -> str | None:
        """The commit the ref is at, None proven absent. `Unavailable` for anything else."""
        ...


class Consented(Protocol):
    """Whether a member's consent stands, without its tokens."""

    def stands(self, party: UUID) -> bool:
        """True while it was given and not ended, as far as is known here."""
        ...


class GivenCredentials(Protocol):
    """The Git host's credentials that were given out (S2)."""

    def outstanding(self, after: UUID | None, limit: int) -> Sequence[GivenCredential]:
        """Those not taken back yet, by id."""
        ...

    def revoke(self, credential_id: UUID, now: datetime) -> None:
        """Takes one back at the host, then remembers it. `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class Silence:
    """A Git host nobody answers for: since when, and when that was seen last."""

    since: datetime
    seen: datetime


class Silences(Protocol):
    """Which Git hosts are silent to one kind of question."""

    def known(self) -> Mapping[str, Silence]:
        """Every silent host."""
        ...

    def seen(self, host: str, what: str, now: datetime) -> None:
        """Notes that it is silent, and in `what` way; one that was already is so since it was first seen."""
        ...

    def over(self, hosts: Sequence[str]) -> None:
        """Forgets them: they answer, or nothing is wanted of them any more."""
        ...


class Suspensions(Protocol):
    """Whether the provider paused an allocation lately (P31)."""

    def suspended(self, run: Run, now: datetime) -> bool:
        """True for a recent pause of the Run's allocation."""
        ...
