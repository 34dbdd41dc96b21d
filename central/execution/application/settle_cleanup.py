"""Who ends what the Site did not: a member asks for a cleanup again, an operator settles (E7, P28, S11)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import Audit, Authorities, Runs, RunUnknown, Saved, StoreCommand
from central.execution.domain.permission import Permission
from central.execution.domain.progress import Step
from central.execution.domain.run import Run, Settlement
from central.execution.domain.settling import clean_up_again, settle


@dataclass(frozen=True, slots=True)
class CleanUpRun:
    """A member of the Project has a refused cleanup asked for again."""

    authorities: Authorities
    audit: Audit
    runs: Runs

    def __call__(
        self, command: StoreCommand, project: UUID, run_id: UUID, *, member: UUID, now: datetime
    ) -> Saved:
        """The Run as it stands. `NotAllowed`, `RunUnknown`, `StepRefused`, `Unavailable`."""
        Use(self.authorities, self.audit, project, run_id).by(member, Permission.CLEANUP, now)

        def step(run: Run) -> Step:
            if run.request.project_id != project:
                raise RunUnknown
            return clean_up_again(run, member, now)

        return self.runs.move(command, run_id, step, now)


@dataclass(frozen=True, slots=True)
class SettleRun:
    """An operator's word instead of the Site's; the same word again is told the same.

    `silence`: see `settle`.
    """

    runs: Runs
    silence: timedelta

    def __call__(self, run_id: UUID, settlement: Settlement) -> Saved:
        """The Run whose account is released. `RunUnknown`, `StepRefused`, `Unavailable`."""
        command = StoreCommand.named(f"settle {run_id} {settlement.by} {settlement.reason}")
        return self.runs.move(
            command, run_id, lambda run: settle(run, settlement, self.silence), settlement.at
        )
