"""A member looks at Runs (E4, E7): who has left sees nothing any more."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import Audit, Authorities, RunPage, Runs, RunUnknown
from central.execution.domain.permission import Permission
from central.execution.domain.run import Run


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """The use case. Beto decides before and after the read, so that a permission lost meanwhile counts."""

    authorities: Authorities
    audit: Audit
    runs: Runs

    def one(
        self,
        project: UUID,
        run_id: UUID,
        member: UUID,
        now: datetime,
        *,
        permission: Permission = Permission.VIEW,
    ) -> Run:
        """One Run, for who may see it, or its results. `RunUnknown`, `NotAllowed`, `Unavailable`."""
        use = Use(self.authorities, self.audit, project, run_id)
        use.by(member, permission, now)
        run = self.runs.by_id(run_id)
        if run is None or run.request.project_id != project:
            raise RunUnknown
        use.by(member, permission, now)
        return run

    def page(self, project: UUID, after: UUID | None, limit: int, member: UUID, now: datetime) -> RunPage:
        """Runs, newest first."""
        use = Use(self.authorities, self.audit, project, project)
        use.by(member, Permission.VIEW, now)
        found = self.runs.of_project(project, after, limit)
        use.by(member, Permission.VIEW, now)
        return found
