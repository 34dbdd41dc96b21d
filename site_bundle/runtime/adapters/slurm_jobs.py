"""Queue, accounting, cancel and associations over Slurm's commands, as the coordinator (S3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from site_bundle.runtime.domain.command import Identity
from site_bundle.runtime.domain.jobs import AccountedRun, QueuedJob
from site_bundle.slurm.account_parents import ShowAccountParent
from site_bundle.slurm.accounted_jobs import RunRow, ShowRuns
from site_bundle.slurm.association_ids import ShowAssociationIds
from site_bundle.slurm.client import SlurmClient
from site_bundle.slurm.errors import SlurmUnavailableError
from site_bundle.slurm.queued_jobs import QueueRow, ShowQueue
from site_bundle.slurm.submission import CancelJob
from site_bundle.slurm.tres import CPU, GPU, MEMORY

_DEEPEST = 16  # levels of accounts: each is a question
# What scancel says of a job that is over already (scancel(1) of 24.11).
_GONE = ("Invalid job id specified", "Job/step already completing or completed")


class SlurmJobs:
    """The port Cluster. `fence` is drawn for the process (slurm/fenced.py)."""

    def __init__(self, client: SlurmClient, *, cluster: str, fence: str) -> None:
        self._client = client
        self._cluster = cluster
        self._fence = fence

    def queue(self, accounts: Sequence[str]) -> tuple[QueuedJob, ...]:
        return tuple(_queued(row) for row in self._client.read(ShowQueue(accounts, self._fence)))

    def accounting(
        self, accounts: Sequence[str], since: datetime | None, jobs: Sequence[str]
    ) -> tuple[AccountedRun, ...]:
        rows: list[RunRow] = []
        if since is not None:
            rows += self._client.read(ShowRuns(self._cluster, accounts, since, self._fence))
        if jobs:
            rows += self._client.read(ShowRuns(self._cluster, accounts, None, self._fence, jobs))
        return tuple(_run(row) for row in dict.fromkeys(rows))

    def cancel(self, job_id: str) -> None:
        exited = self._client.cancel(CancelJob(job_id))
        if exited.status != 0 and not any(word in exited.complaint for word in _GONE):
            raise SlurmUnavailableError(
                "slurm_cancel_refused",
                found=f"scancel: exit {exited.status}",
                wanted="the right of a coordinator to end members' jobs",
                remedy="look at pharos-runtime doctor and at slurmctld; it is tried again",
            )

    def associations(self, identity: Identity) -> frozenset[int]:
        """Ids of the user's associations in the account."""
        return self._client.read(ShowAssociationIds(self._cluster, identity.account, identity.username))

    def stands_below(self, account: str, parent: str) -> bool:
        """Whether `account` is `parent` or below it, by the tree of this cluster."""
        for _ in range(_DEEPEST):
            if account.lower() == parent.lower():
                return True
            above = self._client.read(ShowAccountParent(self._cluster, account))
            if not above:
                return False
            account = above
        return False


def _queued(row: QueueRow) -> QueuedJob:
    return QueuedJob(row.job_id, row.uid, row.state, _time(row.submitted), row.name, row.comment)


def _run(row: RunRow) -> AccountedRun:
    amounts = {
        "cpu": row_value * 1000 if (row_value := dict(row.tres).get(CPU, 0)) else 0,
        "memory": dict(row.tres).get(MEMORY, 0),
    }
    # Devices of a model only: an untyped count beside them counts the same devices again (A22).
    gpus = {
        f"gpu.{name.removeprefix(GPU)[1:]}": count for name, count in row.tres if name.startswith(f"{GPU}:")
    }
    return AccountedRun(
        job_id=row.job_id,
        cluster=row.cluster,
        uid=row.uid,
        name=row.name,
        state=row.state,
        exit_code=row.exit_code,
        signal=row.signal,
        submitted_at=_time(row.submitted),
        started_at=_time(row.started) if row.started is not None else None,
        ended_at=_time(row.ended) if row.ended is not None else None,
        elapsed=row.elapsed,
        allocated=tuple(sorted((amounts | gpus).items())) if row.tres else (),
        cancelled_by=row.cancelled_by,
        faulty=not row.readable,
        account=row.account,
    )


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
