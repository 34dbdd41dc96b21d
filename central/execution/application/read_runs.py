"""A member looks at Runs (E4, E7): who has left sees nothing any more."""

from dataclasses import dataclass
from uuid import UUID

from central.execution.application.create_run import require
from central.execution.application.ports import Authorities, Permission, RunPage, Runs, RunUnknown
from central.execution.domain.run import Run


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """The use case. Beto decides before and after the read, so that a permission lost meanwhile counts."""

    authorities: Authorities
    runs: Runs

    def one(self, project: UUID, run_id: UUID, member: UUID) -> Run:
        """One Run. `RunUnknown`, `NotAllowed`, `Unavailable`."""
        require(self.authorities, project, member, Permission.VIEW)
        run = self.runs.by_id(run_id)
        if run is None or run.request.project_id != project:
            raise RunUnknown
        require(self.authorities, project, member, Permission.VIEW)
        return run

    def page(self, project: UUID, after: UUID | None, limit: int, member: UUID) -> RunPage:
        """Runs, newest first."""
        require(self.authorities, project, member, Permission.VIEW)
        found = self.runs.of_project(project, after, limit)
        require(self.authorities, project, member, Permission.VIEW)
        return found
