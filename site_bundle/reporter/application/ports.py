"""What the use cases need of the world; each read is whole or raises SiteError (X1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import SiteError
from site_bundle.reporter.domain.accounts import Apply
from site_bundle.reporter.domain.presence import Claim, Known, Presence
from site_bundle.reporter.domain.sources import (
    Applied,
    Directory,
    Listing,
    Project,
    Retained,
    Slurm,
)


class Provider(Protocol):
    """The offering's resources at Waldur: GET alone."""

    def resources(self) -> Listing: ...


class Cluster(Protocol):
    """Slurm: a fixed number of commands, whatever the number of accounts."""

    def read(self) -> Slurm: ...

    def comments(self) -> Mapping[int, str]:
        """The comment of every association, by id, read anew."""

    def apply(self, acts: Sequence[Apply]) -> None:
        """Writes each identity into its association's comment, as far as it can: what became true is read
        back.
        """

    def writable(self, act: Apply) -> bool:
        """Whether its comment can be written without changing what else stands in it."""


class People(Protocol):
    """The directory's people and groups."""

    def read(self) -> Directory: ...

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        """Asks for each by its own name; whatever rules hide an entry, it is not taken for gone."""


class Platform(Protocol):
    """What central says at the intake."""

    def projects(self, wanted: Sequence[UUID]) -> Mapping[UUID, Project | SiteError | None]:
        """Members of the Project that holds each of these provider Projects; None: proven that none does. Of
        the first ones, one at least: whoever asks goes on with the rest.
        """

    def retained(self) -> tuple[Retained, ...]: ...


@dataclass(frozen=True, slots=True)
class Report:
    """A report as it is sent: `body` is never made again. `subjects`: what it speaks of, in its order; `kind`
    is the call, `reports`, `account-sets` or `accounts`.
    """

    report_id: UUID
    kind: str
    subjects: tuple[str, ...]
    observed_at: datetime
    body: bytes
    sequence: int = 0
    tried: bool = False


class AppliedJournal(Protocol):
    """What was applied to which incarnation."""

    def applied(self) -> Mapping[int, Applied]: ...

    def record_applied(self, acts: Sequence[Applied], now: datetime) -> None: ...


class SeenJournal(Protocol):
    """What the directory last showed."""

    def seen(self) -> Iterator[Known]:
        """Every row, one at a time."""

    def record_seen(self, changed: Sequence[Known], forgotten: Sequence[str], now: datetime) -> None: ...


class Outbox(Protocol):
    """Reports on their way. What was never tried is the latest word on some subject at least, so however long
    central is away, no more wait than there are subjects.
    """

    def keep(self, reports: Sequence[Report], now: datetime) -> None:
        """Adds reports; what was never tried goes where later ones speak of all its subjects."""

    def next(self, after: int) -> Report | None:
        """The oldest report above the sequence `after`."""

    def mark_tried(self, report: Report, now: datetime) -> None:
        """Durable before it is sent."""

    def settle(self, report: Report) -> None:
        """The report is over."""

    def split(self, report: Report, parts: Sequence[Report], now: datetime) -> None:
        """`parts` take the report's place."""

    def waiting(self) -> tuple[int, datetime | None]:
        """How many wait, and the oldest one's observation."""
