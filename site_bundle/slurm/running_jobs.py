"""`squeue`: the jobs that hold resources now, with what each holds (S8, A04, A08, A24)."""

from __future__ import annotations

from dataclasses import dataclass

from site_bundle.slurm.command import lines_of
from site_bundle.slurm.errors import UnreadableOutputError

# Of these states Slurm counts a job against GrpTRES; an array's tasks stand alone (--array).
_STATES = "RUNNING,SUSPENDED,CONFIGURING"
# A colon without a number is the full width: names and TRES are never cut (A06, A24, A47).
_FORMAT = "JobID:|,Account:|,tres-alloc:"


@dataclass(frozen=True, slots=True)
class RunningJob:
    """`alloc_tres` as Slurm wrote it."""

    id: int
    account: str
    alloc_tres: str


@dataclass(frozen=True, slots=True)
class ShowRunningJobs:
    """Every job of this host's own cluster that holds resources; a federation shows others' too (W36)."""

    def argv(self) -> list[str]:
        flags = ["--local", "--noheader", "--all", "--array", "--noconvert"]
        return ["squeue", *flags, f"--states={_STATES}", f"--Format={_FORMAT}"]

    def parse(self, output: str) -> tuple[RunningJob, ...]:
        """UnreadableOutputError for a row with other columns, a cut name, or a job without resources."""
        found = tuple(_job(line) for line in lines_of(output))
        if len({job.id for job in found}) != len(found):
            raise UnreadableOutputError("one job id stands twice")
        return found


def _job(line: str) -> RunningJob:
    parts = line.split("|")
    if len(parts) != 3 or not parts[0].isdecimal() or not parts[0].isascii() or not all(parts):
        raise UnreadableOutputError("a row that is not job, account and resources")
    if parts[1].endswith("+"):
        raise UnreadableOutputError("a name cut by its column")
    return RunningJob(int(parts[0]), parts[1], parts[2])
