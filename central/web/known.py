"""What the page shows, as the composition root reads it. What cannot be read raises `Unavailable` or
`CorruptState` (X1); None is proven absence.

Rows are those `pharos-central show --json` prints, and links those `explain --json` prints, so that page and
command line say the same (O1). A row of something that ages has besides `standing` (a `Standing`) and
`staleSince` (RFC 3339, None while it does not apply); both follow from the domain's own rules (P25, P30, P14,
P28).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a list; `next` is where the list goes on, None at its end."""

    rows: Sequence[Row]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Want:
    """A part of a Site's list: at most `limit` rows, from the place `after` on (an earlier `next`)."""

    site: str
    after: str | None
    limit: int


class Known(Protocol):
    """The reads. `ValueError` for an `after` that never was a `next`."""

    @property
    def sites(self) -> Sequence[str]:
        """The platform's Sites."""
        ...

    def view(self, now: datetime) -> Rows:
        """Every scope of Beto's view."""
        ...

    def retention(self, now: datetime) -> Rows:
        """The standing of recovery of accepted work, one row."""
        ...

    def grants(self, site: str, now: datetime) -> Rows:
        """The Site's grants, newest first."""
        ...

    def allocations(self, want: Want, now: datetime) -> Rows:
        """The Site's allocations."""
        ...

    def accounts(self, want: Want, now: datetime) -> Rows:
        """Every account the Site ever confirmed."""
        ...

    def keys(self, want: Want) -> Rows:
        """How many of each member's keys are in which state at the Site."""
        ...

    def keys_of(self, site: str, member: str) -> Rows:
        """Every key a member ever had at the Site."""
        ...

    def runs(self, want: Want, now: datetime) -> Rows:
        """The Site's Runs, newest first."""
        ...

    def explain_allocation(self, allocation: UUID, now: datetime) -> Sequence[Row] | None:
        """Why it is in its state."""
        ...

    def explain_account(self, site: str, member: str, now: datetime) -> Sequence[Row] | None:
        """Why a Party's account at a Site is as it is."""
        ...

    def explain_key(self, key: UUID, now: datetime) -> Sequence[Row] | None:
        """Why it is in its state."""
        ...

    def explain_run(self, run: UUID, now: datetime) -> Sequence[Row] | None:
        """Why it is in its state."""
        ...
