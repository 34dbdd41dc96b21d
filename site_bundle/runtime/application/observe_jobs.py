"""What a look at queue and accounting means for each open stage (S1, S3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.application.events import Events
from site_bundle.runtime.application.ports import Cluster, Grants, Journal
from site_bundle.runtime.application.take_look import take_look
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import StageName
from site_bundle.runtime.domain.jobs import Look
from site_bundle.runtime.domain.script import EXIT_CODES
from site_bundle.runtime.domain.stage import Graces, Stage, State, after_look, ended
from site_bundle.runtime.domain.verdict import End, Verdict


@dataclass(frozen=True, slots=True)
class Looked:
    """`open`: stages that still have, or may have, a job; `changed`: how many moved; `look`: None when there
    was nothing to look for.
    """

    open: int
    changed: int
    look: Look | None


@dataclass(frozen=True, slots=True)
class ObserveJobs:
    """Raises UnavailableError when a source did not answer: nothing was concluded."""

    cluster: Cluster
    journal: Journal
    grants: Grants
    words: Words
    graces: Graces
    cluster_name: str
    events: Events
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, *, now: datetime) -> Looked:
        """One look. `now` was read before it."""
        stages = [each for each in self.journal.stages() if each.state is not State.RECEIVED]
        if not stages:
            return Looked(0, 0, None)
        look = take_look(self.cluster, stages, now, self.events.progress)
        changed, still = 0, 0
        for stage in stages:
            after = self._judge(stage, look)
            if after != stage:
                changed += 1
                self._record(stage, after, now)
            still += after.state in {State.INTENT, State.SUBMITTED}
        return Looked(still, changed, look)

    def _judge(self, stage: Stage, look: Look) -> Stage:
        after = after_look(stage, look, self.graces, cluster=self.cluster_name)
        if after.state is not State.ENDED or after.end is None:
            return after
        try:
            return ended(after, self._explained(after, after.end))
        except UnavailableError as error:
            self.events.waits(stage.command, error)
            return stage

    def _explained(self, stage: Stage, end: End) -> End:
        """The end with what the stage's own script says of it."""
        action = stage.command.submit
        if end.verdict is Verdict.FAILED and action.stage is not StageName.COMPUTE and not end.code:
            return replace(end, code=EXIT_CODES.get(end.exit_code or 0))
        if action.outputs is None or end.verdict is not Verdict.COMPLETED:
            return end
        command = stage.command
        output = self.grants.output(command.attempt_id, command.command_id, command.identity.uid_number)
        if output is None or output.ref != action.outputs.ref:
            return replace(end, verdict=Verdict.FAILED, code="output_unknown")
        return replace(end, output=output)

    def _record(self, before: Stage, after: Stage, now: datetime) -> None:
        words = []
        if before.state is State.INTENT and after.state is State.SUBMITTED:
            words.append(self.words.acknowledged(after.command, now, after.job))
        if after.state is State.ENDED and after.end is not None:
            words.append(self.words.ended(after.command, now, after.end))
        self.journal.save(after, *words)
        self.events.moved(before, after)
        self.checkpoint("look-journalled")
