"""What queue and accounting say of jobs, and which of it is ours.

1. Ours is what bears the marker and the saved numeric UID and was submitted after our intent: never a job id
   alone, for ids are recycled (A12), and never a name of a person (A43, A47).
2. A look is both sources, asked after one instant. A source that did not answer makes no look (X1, A29).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

CLOCKS_APART = timedelta(seconds=60)
"""How far this host's clock and the controller's may differ before a job seems older than its intent."""

ACTIVE = frozenset(
    {
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "CONFIGURING",
        "COMPLETING",
        "RESIZING",
        "REQUEUED",
        "REQUEUE_HOLD",
        "REQUEUE_FED",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "RESV_DEL_HOLD",
        "POWER_UP_NODE",
    }
)
"""States of squeue(1) in which the job is not over."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A row of the queue. Texts others chose are in `name` and `comment` alone."""

    job_id: str
    uid: int
    state: str
    submitted_at: datetime
    name: str
    comment: str

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


@dataclass(frozen=True, slots=True)
class AccountedRun:
    """One run of a job: a requeued job has several (A10). `state` is one word; `cancelled_by` a numeric UID
    (A05).

    `started_at` None: it never began (A17); `ended_at` None: it is not over (A18). `elapsed` in seconds.
    `faulty`: a field is unreadable, so nothing may be concluded from the run (A21).
    """

    job_id: str
    cluster: str
    uid: int
    name: str
    state: str
    exit_code: int
    signal: int
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    elapsed: int
    allocated: tuple[tuple[str, int], ...]
    cancelled_by: int | None = None
    faulty: bool = False
    account: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Both sources, whole, asked at `at` or later."""

    at: datetime
    queue: Sequence[QueuedJob]
    accounting: Sequence[AccountedRun]


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job that is known to be ours."""

    job_id: str
    cluster: str
    submitted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Ours:
    """What a look has of one stage."""

    queue: tuple[QueuedJob, ...]
    runs: tuple[AccountedRun, ...]

    @property
    def job_ids(self) -> tuple[str, ...]:
        """The earliest submitted first; more than one id would be a second job."""
        first: dict[str, datetime] = {}
        for item in self.sightings:
            first[item.job_id] = min(item.submitted_at, first.get(item.job_id, item.submitted_at))
        return tuple(sorted(first, key=lambda job_id: (first[job_id], job_id)))

    @property
    def sightings(self) -> tuple[QueuedJob | AccountedRun, ...]:
        """Both sources together."""
        both: list[QueuedJob | AccountedRun] = [*self.queue, *self.runs]
        return tuple(both)


def ours(look: Look, *, marker: str, uid: int, intent_at: datetime, job: JobRef | None) -> Ours:
    """Rule 1. A known job stays ours under another name, if id, UID and time of submission are the same: its
    owner may rename it.
    """
    since = intent_at - CLOCKS_APART

    def is_ours(item: QueuedJob | AccountedRun) -> bool:
        if item.uid != uid or item.submitted_at < since:
            return False
        marked = item.name == marker or (isinstance(item, QueuedJob) and item.comment == marker)
        if job is None:
            return marked
        if item.job_id != job.job_id:
            return False
        return marked or (job.submitted_at is not None and item.submitted_at == job.submitted_at)

    queue = tuple(item for item in look.queue if is_ours(item))
    return Ours(queue, tuple(item for item in look.accounting if is_ours(item)))
