"""One look at queue and accounting for some stages (S1, S3, S10, A43).

One squeue a look, whatever the number of jobs. One sacct for the jobs that are not plainly active, and one
for submissions whose answer was lost; none while there are none. The queue is asked by account, since nobody
who left the directory can be asked for; the owner of a job that waits may move it to another account of
theirs, so where accounting has one that is not over, its account is asked for too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from site_bundle.runtime.application.ports import Cluster
from site_bundle.runtime.domain.jobs import CLOCKS_APART, Look
from site_bundle.runtime.domain.stage import Stage, seen


def take_look(cluster: Cluster, stages: Sequence[Stage], now: datetime, progress: Callable[[], None]) -> Look:
    """`now` was read before. UnavailableError when a source did not answer."""
    accounts = sorted({stage.command.identity.account for stage in stages})
    queue = cluster.queue(accounts)
    progress()
    first = Look(now, queue, ())
    unclear = [each for each in stages if not any(job.active for job in seen(each, first).queue)]
    if not unclear:
        return first
    lost = [each.intent_at for each in unclear if each.job is None and each.intent_at is not None]
    since = min(lost) - CLOCKS_APART if lost else None
    jobs = [each.job.job_id for each in unclear if each.job is not None]
    accounting = cluster.accounting(accounts, since, jobs)
    elsewhere = {run.account for run in accounting if run.ended_at is None and run.account} - set(accounts)
    if elsewhere:
        queue = (*queue, *cluster.queue(sorted(elsewhere)))
    return Look(now, queue, accounting)
