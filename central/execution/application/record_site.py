"""What a Site says of its commands (E3): acknowledgements and results, each recorded once."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.ports import AttemptMismatch, Runs, StoreCommand
from central.execution.domain.attempts import as_of
from central.execution.domain.progress import Refusal, Step, StepRefused, acknowledge, record_result
from central.execution.domain.run import Acknowledgement, Result, Run
from central.kernel.errors import ObservedInFuture
from central.kernel.times import AHEAD_MAX

SiteStep = Callable[[Run, UUID], Step]


@dataclass(frozen=True, slots=True)
class RecordSite:
    """The use case. A repeated word is told `unchanged`."""

    runs: Runs

    def acknowledge(
        self,
        command: StoreCommand,
        site: str,
        target: tuple[UUID, UUID],
        said: Acknowledgement,
        now: datetime,
    ) -> bool:
        """Whether it changed anything. `target` is the command and the Attempt the Site names."""
        return self._move(command, site, target, lambda run, named: acknowledge(run, named, said, now), now)

    def result(
        self, command: StoreCommand, site: str, target: tuple[UUID, UUID], result: Result, now: datetime
    ) -> bool:
        """As `acknowledge`. `ObservedInFuture` for an observation ahead of our clock."""
        ahead = result.observed_at - now
        if ahead > AHEAD_MAX:
            raise ObservedInFuture(ahead)
        return self._move(
            command, site, target, lambda run, named: record_result(run, named, result, now), now
        )

    def _move(
        self,
        command: StoreCommand,
        site: str,
        target: tuple[UUID, UUID],
        step: SiteStep,
        now: datetime,
    ) -> bool:
        named, attempt = target
        run_id = self.runs.run_of_command(site, named)
        changed = False

        def decide(run: Run) -> Step:
            nonlocal changed
            then = as_of(run, attempt)
            if then is None:
                raise AttemptMismatch
            try:
                after = step(then, named)
            except StepRefused as refused:
                if refused.refusal is Refusal.COMMAND_UNKNOWN:
                    raise AttemptMismatch from None
                raise
            if then is not run:
                return Step(run)  # an earlier attempt is settled: what is said again moves nothing
            changed = after.run is not run
            return after

        saved = self.runs.move(command, run_id, decide, now)
        return changed and not saved.repeated
