"""`squeue`: every job in some accounts that slurmctld still knows, ended ones too (S1, A02, A04, A06)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.fenced import checked_fence, fenced_rows

_FIELDS = ("JobID", "UserID", "State", "SubmitTime", "Name", "Comment")


@dataclass(frozen=True, slots=True)
class QueueRow:
    """`submitted` in seconds since the epoch. `job_id` is the row's own number: of an array's pending tasks
    the base's (A08), of a het job's component its own (A09).
    """

    job_id: str
    uid: int
    state: str
    submitted: int
    name: str
    comment: str


@dataclass(frozen=True, slots=True)
class ShowQueue:
    """Jobs in `accounts`, never of users: of one who left the directory squeue says "Invalid user", lists
    none of their jobs, and ends with 0 (A43).
    """

    accounts: Sequence[str]
    fence: str

    def argv(self) -> list[str]:
        fence = checked_fence(self.fence)
        wanted = ",".join(f"{field}:{fence}" for field in _FIELDS)
        return [
            "squeue",
            "--noheader",
            "--local",
            "--all",
            "--states=all",
            f"--account={','.join(self.accounts)}",
            f"--Format={wanted}",
        ]

    def parse(self, output: str) -> tuple[QueueRow, ...]:
        """UnreadableOutputError for a cut row or a number that is none: no row is ever skipped."""
        return tuple(_row(row) for row in fenced_rows(output, self.fence, len(_FIELDS)))


def _row(row: tuple[str, ...]) -> QueueRow:
    job_id, uid, state, submitted, name, comment = row
    for text in (job_id, uid, submitted):
        if not (text.isascii() and text.isdecimal()):
            raise UnreadableOutputError("a row whose job, user or time is no number")
    if not state or state.endswith("+"):
        raise UnreadableOutputError("a state cut by its column")
    return QueueRow(job_id, int(uid), state, int(submitted), name, "" if comment == "(null)" else comment)
