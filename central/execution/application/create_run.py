"""A member asks for a Run (E1, E4, P26, P31). Every refusal has a reason; nothing is saved for a refusal."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import (
    Accounts,
    Audit,
    Authorities,
    Holder,
    Maintenance,
    Planning,
    Runs,
    Saved,
    SiteNotQualified,
    Sites,
    StoreCommand,
)
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.maintenance import in_force
from central.execution.domain.permission import Permission
from central.execution.domain.planning import plan
from central.execution.domain.request import RunRequest
from central.execution.domain.run import WaitReason


class SiteUnknown(Exception):
    """There is no such Site."""


class NoAccount(Exception):
    """The member provably has no account there."""


@dataclass(frozen=True, slots=True)
class CreateRun:
    """The use case: permission, Site, plan, account, then one transaction."""

    authorities: Authorities
    audit: Audit
    sites: Sites
    planning: Planning
    accounts: Accounts
    maintenance: Maintenance
    runs: Runs

    def __call__(self, command: StoreCommand, request: RunRequest, member: UUID, now: datetime) -> Saved:
        """The saved Run. Raises what its steps raise: `NotAllowed`, `SiteUnknown`, `SiteNotQualified`,
        `PlanRefused`, `NoAccount`, `AccountAwaits`, `AccountSeveral`, `Unavailable`.
        """
        run_id = run_id_of(command.id, request.project_id)
        use = Use(self.authorities, self.audit, request.project_id, run_id)
        authority = use.by(member, Permission.CREATE, now)
        earlier = self.runs.recorded(command)
        if earlier is not None:
            return Saved(earlier, repeated=True)
        if not self.sites.known(request.site):
            raise SiteUnknown(request.site)
        resource = plan(request, self.planning.resources(request.project_id, request.site), now)
        if not self.sites.qualified(request.site):
            raise SiteNotQualified(request.site)
        holder = Holder(request.project_id, member, request.site, authority.management_generation)
        account = self.accounts.for_new_work(holder, resource, now)
        if account is None:
            raise NoAccount
        step = accept(
            run_id,
            request,
            resource.allocation_id,
            identity=account.identity,
            member=member,
            now=now,
            held=WaitReason.SITE_MAINTENANCE if in_force(self.maintenance.of(request.site), now) else None,
        )
        return self.runs.add(command, step)
