"""A member ends a Run: its own or another's of the Project, with the asker kept for the audit (E4, E7)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import (
    Audit,
    Authorities,
    Runs,
    RunUnknown,
    Saved,
    StoreCommand,
)
from central.execution.domain.permission import Permission
from central.execution.domain.progress import Step, cancel
from central.execution.domain.run import Run


@dataclass(frozen=True, slots=True)
class CancelRun:
    """The use case."""

    authorities: Authorities
    audit: Audit
    runs: Runs

    def __call__(
        self,
        command: StoreCommand,
        project: UUID,
        run_id: UUID,
        *,
        member: UUID,
        reason: str | None,
        now: datetime,
    ) -> Saved:
        """The Run as it stands. `NotAllowed`, `RunUnknown`, `StepRefused`, `Unavailable`."""
        Use(self.authorities, self.audit, project, run_id).by(member, Permission.CANCEL, now)

        def step(run: Run) -> Step:
            if run.request.project_id != project:
                raise RunUnknown
            return cancel(run, member, reason, now)

        return self.runs.move(command, run_id, step, now)
