"""A member tries a Run again as the same account (E1, E7, P26, P31): attempt 2 and later."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import (
    AccountChanged,
    Accounts,
    Audit,
    Authorities,
    Maintenance,
    Planning,
    Runs,
    RunUnknown,
    Saved,
    SiteNotQualified,
    Sites,
    StoreCommand,
)
from central.execution.domain.attempts import check_retry, retry
from central.execution.domain.maintenance import in_force
from central.execution.domain.permission import Permission
from central.execution.domain.planning import plan
from central.execution.domain.run import WaitReason


@dataclass(frozen=True, slots=True)
class RetryRun:
    """The use case. New work under an old identity: it is planned again, and the account has to be exactly
    the saved one still, in the Project's present management generation.
    """

    authorities: Authorities
    audit: Audit
    sites: Sites
    planning: Planning
    accounts: Accounts
    maintenance: Maintenance
    runs: Runs

    def __call__(
        self, command: StoreCommand, project: UUID, run_id: UUID, *, member: UUID, now: datetime
    ) -> Saved:
        """The Run with its next attempt. `NotAllowed`, `RunUnknown`, `StepRefused`, `PlanRefused`,
        `SiteNotQualified`, `AccountAwaits`, `AccountChanged`, `Unavailable`.
        """
        authority = Use(self.authorities, self.audit, project, run_id).by(member, Permission.RETRY, now)
        earlier = self.runs.recorded(command)
        if earlier is not None:
            return Saved(earlier, repeated=True)
        run = self.runs.by_id(run_id)
        if run is None or run.request.project_id != project:
            raise RunUnknown
        check_retry(run)
        wanted = replace(run.request, allocation_id=run.allocation_id)
        plan(wanted, self.planning.resources(project, wanted.site), now)
        if not self.sites.qualified(wanted.site):
            raise SiteNotQualified(wanted.site)
        if authority.management_generation != run.identity.management_generation:
            raise AccountChanged
        self.accounts.confirmed_at(run, now)
        held = WaitReason.SITE_MAINTENANCE if in_force(self.maintenance.of(wanted.site), now) else None
        return self.runs.move(command, run_id, lambda at: retry(at, member, now, held=held), now)
