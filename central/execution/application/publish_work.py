"""Says what became of accepted work, at least once, each Run at its latest revision (P27).

A revision is remembered as published only after the broker took it. A Run that moves between is said again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from central.execution.application.passes import BATCH, Passed
from central.execution.application.ports import Runs
from central.execution.application.work_items import TOPIC, encode_event, message_id_of, rows_since
from central.execution.application.worker_ports import RunPasses
from central.execution.domain.run import Run
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
        while due := self.passes.unpublished(BATCH):
            found = [(self.runs.by_id(run_id), published) for run_id, published in due]
            runs = [(run, published) for run, published in found if run is not None]
            self.publish([each for run, published in runs for each in _messages(run, published)])
            self.passes.published([(run.run_id, run.revision) for run, _ in runs])
            said += len(runs)
            if len(due) < BATCH:
                break
        return Passed(said, said, 0)


def _messages(run: Run, published: int) -> list[Message]:
    return [
        Message(message_id_of(row), TOPIC, encode_event(row, run.changed_at))
        for row in rows_since(run, published)
    ]
