"""A batch of observations on its way to be decided (P12)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from central.kernel.site_names import Site
from central.provisioning.domain.decision import Outcome, RefusalCode
from central.provisioning.domain.observation import Content, Observation


class Report(Protocol):
    """One report of one Site. Sequences are aligned, in the order of the body.

    Values of a single resource are made on demand: of a thousand unchanged ones none is ever needed.
    """

    @property
    def report_id(self) -> UUID:
        """The durable id; the same report again has the same."""
        ...

    @property
    def site(self) -> Site:
        """The Site the credential names."""
        ...

    @property
    def observed_at(self) -> datetime:
        """Before the first read the report speaks of, in UTC."""
        ...

    @property
    def allocation_ids(self) -> Sequence[str]:
        """Canonical text of each resource's allocation id; distinct."""
        ...

    @property
    def contents(self) -> Sequence[Content]:
        """What each resource's observation says."""
        ...

    @property
    def order(self) -> Sequence[int]:
        """The positions by ascending allocation id."""
        ...

    @property
    def ordered_ids(self) -> Sequence[str]:
        """`allocation_ids` in this order."""
        ...

    @property
    def ordered_contents(self) -> Sequence[Content]:
        """`contents` in this order."""
        ...

    def observation(self, position: int) -> Observation:
        """One resource as a domain value."""
        ...


class Answered(Struct, frozen=True, gc=False):
    """What a report was told about one resource."""

    outcome: Outcome
    revision: int | None
    code: RefusalCode | None = None
