"""Project authority, which sits beside the view (P15)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from central.projects.domain.ids import ProjectId
from central.projects.domain.project import Project


class AuthorityState(StrEnum):
    """Whether Beto stands behind the Project's members now."""

    READY = "ready"
    PENDING = "pending"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Authority:
    """Authority over one revision of a Project. `expires_at` is set exactly while it is ready.

    `revision` is the Project's revision it speaks of and also what orders it.
    """

    project_id: ProjectId
    revision: int
    state: AuthorityState
    expires_at: datetime | None
    management_generation: int

    @property
    def id(self) -> UUID:
        """What the set is ordered by."""
        return self.project_id


class Deferred(StrEnum):
    """Why nobody can be called an active member of a Project now."""

    AUTHORITY_MISSING = "authority_missing"
    AUTHORITY_PENDING = "authority_pending"
    AUTHORITY_EXPIRED = "authority_expired"
    AUTHORITY_OF_ANOTHER_REVISION = "authority_of_another_revision"
    DECISION_OF_ANOTHER_REVISION = "decision_of_another_revision"
    DECISION_EXPIRED = "decision_expired"


def deferral(authority: Authority | None, project: Project, now: datetime) -> Deferred | None:
    """Why the authority does not cover the viewed revision at `now`; None if it does."""
    if authority is None:
        return Deferred.AUTHORITY_MISSING
    if authority.revision != project.revision:
        return Deferred.AUTHORITY_OF_ANOTHER_REVISION
    if authority.state is not AuthorityState.READY or authority.expires_at is None:
        return Deferred.AUTHORITY_PENDING
    if now >= authority.expires_at:
        return Deferred.AUTHORITY_EXPIRED
    return None
