"""Says what became of accepted work, at least once, each Run at its latest revision (P27).

A revision is remembered as published only after the broker took it. A Run that moves between is said again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from central.execution.application.passes import BATCH, Passed
from central.execution.application.ports import Runs
from central.execution.application.work_items import TOPIC, encode_event, message_id_of
from central.execution.application.worker_ports import RunPasses
from central.kernel.broker import Message


@dataclass(frozen=True, slots=True)
class PublishWork:
    """The use case. `publish` hands messages to the broker, all or none."""

    passes: RunPasses
    runs: Runs
    publish: Callable[[Sequence[Message]], None]

    def __call__(self, _now: datetime) -> Passed:
        """Until nothing is left to say. `Unavailable`."""
        said = 0
        while ids := self.passes.unpublished(BATCH):
            runs = [run for run in map(self.runs.by_id, ids) if run is not None]
            self.publish([Message(message_id_of(run), TOPIC, encode_event(run)) for run in runs])
            self.passes.published([(run.run_id, run.revision) for run in runs])
            said += len(runs)
            if len(ids) < BATCH:
                break
        return Passed(said, said, 0)
