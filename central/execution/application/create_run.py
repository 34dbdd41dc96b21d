"""A member asks for a Run (E1, E4, P26, P31). Every refusal has a reason; nothing is saved for a refusal."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.ports import (
    Accounts,
    Authorities,
    Permission,
    Planning,
    Runs,
    Saved,
    Sites,
    StoreCommand,
)
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.planning import plan
from central.execution.domain.request import RunRequest


class NotAllowed(Exception):
    """Beto says no; `permission` names what was asked."""

    def __init__(self, permission: Permission) -> None:
        super().__init__(permission.value)
        self.permission = permission


class SiteUnknown(Exception):
    """There is no such Site."""


class SiteNotQualified(Exception):
    """Execution is paused there (P36)."""


class NoAccount(Exception):
    """The member provably has no account there."""


@dataclass(frozen=True, slots=True)
class CreateRun:
    """The use case: permission, Site, plan, account, then one transaction."""

    authorities: Authorities
    sites: Sites
    planning: Planning
    accounts: Accounts
    runs: Runs

    def __call__(self, command: StoreCommand, request: RunRequest, member: UUID, now: datetime) -> Saved:
        """The saved Run. Raises what its steps raise: `NotAllowed`, `SiteUnknown`, `SiteNotQualified`,
        `PlanRefused`, `NoAccount`, `AccountAwaits`, `AccountSeveral`, `Unavailable`.
        """
        require(self.authorities, request.project_id, member, Permission.CREATE)
        earlier = self.runs.recorded(command)
        if earlier is not None:
            return Saved(earlier, repeated=True)
        if not self.sites.known(request.site):
            raise SiteUnknown(request.site)
        resource = plan(request, self.planning.resources(request.project_id, request.site), now)
        if not self.sites.qualified(request.site):
            raise SiteNotQualified(request.site)
        account = self.accounts.for_new_work(request.project_id, member, resource, request.site, now)
        if account is None:
            raise NoAccount
        run_id = run_id_of(command.id, request.project_id)
        step = accept(
            run_id, request, resource.allocation_id, identity=account.identity, member=member, now=now
        )
        return self.runs.add(command, step)


def require(authorities: Authorities, project: UUID, member: UUID, permission: Permission) -> None:
    """Asks Beto now. Raises `NotAllowed`, `Unavailable`."""
    if not authorities.decide(project, member, permission).allowed:
        raise NotAllowed(permission)
