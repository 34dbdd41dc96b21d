"""The commands that end an Attempt here: cancel and cleanup (E7, S4, A36).

1. What was received and not begun is refused. What may have been begun is looked up first.
2. A cancel is done when every job of the Attempt that the queue shows active was told to end. That it ended
   is the stage's own verdict.
3. A cleanup is done when the Attempt's folder is gone. It waits for the verdict of every stage: a job may
   still ask the helper, and what stage-out pushed is read from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from site_bundle.runtime.domain.jobs import Look
from site_bundle.runtime.domain.stage import Stage, State, seen


def unsettled(stages: Sequence[Stage]) -> bool:
    """Whether some stage may still become a job, or has become one nobody knows yet."""
    return any(stage.state in {State.RECEIVED, State.INTENT} for stage in stages)


def to_cancel(stages: Sequence[Stage], look: Look) -> tuple[tuple[Stage, str], ...]:
    """Rule 2: each active job that is ours, with its stage; a second job of one marker too."""
    found = []
    for stage in stages:
        mine = seen(stage, look)
        found += [(stage, job.job_id) for job in mine.queue if job.active]
    return tuple(found)
