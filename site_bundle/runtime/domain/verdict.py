"""What a job that is over came to: its latest run's state, the usage of all its runs (S1, A05, A10, A17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from site_bundle.runtime.domain.jobs import AccountedRun


class Verdict(StrEnum):
    """The words of docs/wire.md."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"
    LOST = "lost"


# Final states of sacct(1), and the code where the word alone does not say why.
_FINAL: dict[str, tuple[Verdict, str | None]] = {
    "COMPLETED": (Verdict.COMPLETED, None),
    "FAILED": (Verdict.FAILED, None),
    "CANCELLED": (Verdict.CANCELLED, None),
    "TIMEOUT": (Verdict.TIMED_OUT, None),
    "DEADLINE": (Verdict.TIMED_OUT, "deadline"),
    "OUT_OF_MEMORY": (Verdict.OUT_OF_MEMORY, None),
    "NODE_FAIL": (Verdict.NODE_FAILED, None),
    "BOOT_FAIL": (Verdict.NODE_FAILED, "boot_failed"),
    "LAUNCH_FAILED": (Verdict.NODE_FAILED, "launch_failed"),
    "RECONFIG_FAIL": (Verdict.NODE_FAILED, "reconfiguration_failed"),
    "PREEMPTED": (Verdict.FAILED, "preempted"),
    "REVOKED": (Verdict.FAILED, "revoked"),
}
# Slurm requeues jobs out of these states; they are the end only once the queue has had time to show it (A11).
MAY_REQUEUE = frozenset({"PREEMPTED", "NODE_FAIL", "BOOT_FAIL"})


@dataclass(frozen=True, slots=True)
class Usage:
    """Elapsed seconds of all runs together; of each component the most any run held (canonical units)."""

    elapsed_seconds: int
    allocated: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Output:
    """What stage-out pushed."""

    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class End:
    """A definite end. `code` says why where the verdict does not."""

    verdict: Verdict
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    usage: Usage | None = None
    output: Output | None = None
    code: str | None = None


def latest(runs: Sequence[AccountedRun]) -> AccountedRun:
    """The run that stands for the job now: the last submitted, then the last started."""
    return max(runs, key=lambda run: (run.submitted_at, run.started_at or run.submitted_at))


def is_final(run: AccountedRun) -> bool:
    """Whether accounting has this run's end."""
    return run.state in _FINAL and run.ended_at is not None and not run.faulty


def end_of(runs: Sequence[AccountedRun]) -> End:
    """The end of a job whose latest run is final and none of whose runs is faulty."""
    last = latest(runs)
    verdict, code = _FINAL[last.state]
    if verdict is Verdict.COMPLETED and (last.exit_code or last.signal):
        verdict, code = Verdict.FAILED, "exit_code_contradicts"
    starts = [run.started_at for run in runs if run.started_at is not None]
    return End(
        verdict=verdict,
        exit_code=last.exit_code,
        signal=last.signal,
        started_at=min(starts, default=None),
        ended_at=last.ended_at,
        usage=_usage(runs),
        code=code,
    )


def _usage(runs: Sequence[AccountedRun]) -> Usage:
    held: dict[str, int] = {}
    for run in runs:
        for name, amount in run.allocated:
            held[name] = max(amount, held.get(name, 0))
    return Usage(sum(run.elapsed for run in runs), dict(sorted(held.items())))
