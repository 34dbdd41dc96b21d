"""What the use cases of grants need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.grants.domain.grant import Grant


class GrantUnknown(Exception):
    """There is no grant of this id."""


class Grants(Protocol):
    """The grants of all Sites."""

    def issue(self, site: str, decide: Callable[[Sequence[Grant]], Grant]) -> Grant:
        """Saves the grant that `decide` makes beside the Site's grants; one at a time for a Site."""
        ...

    def everything(self) -> Sequence[Grant]:
        """All grants, revoked and expired ones included, by Site and time."""
        ...

    def find(self, grant_id: UUID) -> Grant | None:
        """The grant as it stands in the database now; nothing is kept between calls."""
        ...

    def touch(self, grant_id: UUID, now: datetime) -> None:
        """Saves the time of last use, where it is older than its resolution."""
        ...

    def revoke(self, grant_id: UUID, now: datetime) -> Grant:
        """The grant, revoked from now on. Raises `GrantUnknown`."""
        ...
