"""A permission is asked of Beto and its use is kept, in one step (E7)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.ports import Audit, Authorities, Authority
from central.execution.domain.permission import Permission


class NotAllowed(Exception):
    """Beto says no; `permission` names what was asked."""

    def __init__(self, permission: Permission) -> None:
        super().__init__(permission.value)
        self.permission = permission


@dataclass(frozen=True, slots=True)
class Use:
    """Permissions in one Project; `subject` is the Run they are used on, or the Project for all its Runs."""

    authorities: Authorities
    audit: Audit
    project: UUID
    subject: UUID

    def by(self, actor: UUID, permission: Permission, now: datetime) -> Authority:
        """The decision that allows it, kept with its actor. Raises `NotAllowed`, `Unavailable`."""
        authority = self.authorities.decide(self.project, actor, permission)
        if not authority.allowed:
            raise NotAllowed(permission)
        self.audit.note(self.subject, permission, actor, now)
        return authority
