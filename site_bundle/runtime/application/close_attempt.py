"""Cancel an Attempt's jobs, or release its grant: one command at a call (E7, S4, S5, A36)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from site_bundle.kernel.errors import SiteError
from site_bundle.runtime.application.events import Events
from site_bundle.runtime.application.ports import Closing, Cluster, Grants, Journal
from site_bundle.runtime.application.take_look import take_look
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.closing import to_cancel, unsettled
from site_bundle.runtime.domain.command import Cancel
from site_bundle.runtime.domain.verdict import End, Verdict


@dataclass(frozen=True, slots=True)
class CloseAttempt:
    """True when the command is done and said so. SiteError: it is tried again."""

    journal: Journal
    cluster: Cluster
    grants: Grants
    words: Words
    events: Events
    observe: bool
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, closing: Closing, *, now: datetime) -> bool:
        """`now` was read before the look that is taken here."""
        command = closing.command
        if self.observe or now > command.valid_until:
            return False  # past it, it is asked for again before it is begun (E2)
        stages = self.journal.stages_of(command.attempt_id)
        if unsettled(stages):
            return False
        if isinstance(command.action, Cancel):
            self._cancel(closing, now)
        elif stages:
            return False
        else:
            self.grants.release(command.attempt_id)
        self.checkpoint("closed")
        done = End(Verdict.COMPLETED)
        acknowledged = self.words.acknowledged(command, now)
        self.journal.close(command.command_id, acknowledged, self.words.ended(command, now, done))
        self.events.closed(command)
        return True

    def _cancel(self, closing: Closing, now: datetime) -> None:
        """Each job by itself: one that cannot be cancelled stops no other (A36)."""
        stages = self.journal.stages_of(closing.command.attempt_id)
        if not stages:
            return
        look = take_look(self.cluster, stages, now, self.events.progress)
        failed: SiteError | None = None
        for _, job_id in to_cancel(stages, look):
            try:
                self.cluster.cancel(job_id)
                self.events.cancelled(closing.command, job_id)
            except SiteError as error:
                failed = error
        if failed is not None:
            raise failed
