"""`sacct`: every run of some accounts' jobs since an instant, requeued runs each once (S1; A05, A10,
A17–A22).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.fenced import checked_fence, fenced_rows
from site_bundle.slurm.tres import parse_tres

_FIELDS = (
    "JobIDRaw",
    "Cluster",
    "UID",
    "Account",
    "State",
    "ExitCode",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "AllocTRES",
    "JobName",
)
_STATE = re.compile(r"([A-Z_]+)(?: by ([0-9]+))?", re.ASCII)
_EXIT = re.compile(r"([0-9]{1,3}):([0-9]{1,3})", re.ASCII)
_UNSET = frozenset({"Unknown", "None", ""})


@dataclass(frozen=True, slots=True)
class RunRow:
    """Times in seconds since the epoch, None for one that is not yet or never was; `tres` by TRES name.

    `readable` False: one of its own fields makes no sense (A21), so nothing may be concluded from it; whose
    it is and when it was submitted is sure all the same.
    """

    job_id: str
    cluster: str
    uid: int
    submitted: int
    name: str
    state: str = ""
    cancelled_by: int | None = None
    exit_code: int = 0
    signal: int = 0
    started: int | None = None
    ended: int | None = None
    elapsed: int = 0
    tres: tuple[tuple[str, int], ...] = ()
    readable: bool = True
    account: str = ""


@dataclass(frozen=True, slots=True)
class ShowRuns:
    """Runs in `accounts` of `cluster` there at `since` or later; with `jobs`, these alone, whenever.

    Never asked by user: one who left the directory is an error (A43). A job that was cancelled before it was
    eligible to run is shown among `jobs` alone.
    """

    cluster: str
    accounts: Sequence[str]
    since: datetime | None
    fence: str
    jobs: Sequence[str] = ()

    def argv(self) -> list[str]:
        flags = ["--noheader", "--parsable", "--allocations", "--duplicates", "--noconvert"]
        began = [f"--starttime={self.since.strftime('%Y-%m-%dT%H:%M:%S')}"] if self.since else []
        return [
            "sacct",
            *flags,
            f"--delimiter={checked_fence(self.fence)}",
            f"--clusters={self.cluster}",
            "--allusers",
            *began,
            f"--jobs={','.join(self.jobs)}" if self.jobs else f"--accounts={','.join(self.accounts)}",
            f"--format={','.join(_FIELDS)}",
        ]

    def parse(self, output: str) -> tuple[RunRow, ...]:
        """UnreadableOutputError when rows cannot be told apart, or nobody knows whose one is."""
        return tuple(_row(row) for row in fenced_rows(output, self.fence, len(_FIELDS)))


def _row(row: tuple[str, ...]) -> RunRow:
    job_id, cluster, uid, account, *told, name = row
    submitted = told[2]
    for text in (job_id, uid, submitted):
        if not (text.isascii() and text.isdecimal()):
            raise UnreadableOutputError("a run whose job, user or time of submission is no number")
    whose = RunRow(job_id, cluster, int(uid), int(submitted), name, readable=False, account=account)
    try:
        return _told(whose, told)
    except ValueError:
        return whose


def _told(whose: RunRow, told: Sequence[str]) -> RunRow:
    state, exit_code, _, start, end, elapsed, tres = told
    found, status = _STATE.fullmatch(state), _EXIT.fullmatch(exit_code)
    if found is None or status is None or not (elapsed.isascii() and elapsed.isdecimal()):
        raise UnreadableOutputError("a state, an exit status or a time of other forms")
    return replace(
        whose,
        readable=True,
        state=found[1],
        cancelled_by=int(found[2]) if found[2] else None,
        exit_code=int(status[1]),
        signal=int(status[2]),
        started=_instant(start),
        ended=_instant(end),
        elapsed=int(elapsed),
        tres=tuple(sorted(parse_tres(tres).items())),
    )


def _instant(text: str) -> int | None:
    return None if text in _UNSET else int(text)
