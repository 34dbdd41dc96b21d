"""A Site that reports itself and runs members' Runs: who asks for them, what ran on the host, what central
kept of it (E4, E7, S1–S6).
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

import urllib3

from central.dev.helpers import operator_settings
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.domain.run import Run
from central.processes.operator import opened
from tests.journeys.reporting import Allocation, Reporting
from tests.journeys.runs import Repository, Runs, has_ended, stages
from tests.lab.processes import wait_until

SCRATCH = "/scratch/pharos"
HELD = ["sh", "-c", "until [ -e ../go ]; do sleep 0.2; done; echo done >result.txt"]
"""A program that runs until it is let go on."""
PROGRAM = """\
#!/bin/sh
# What a Run of the journeys computes: what it read and was told, and a large file of known bytes.
set -e
cat input.txt model.bin >result.txt
printf '%s\\n' "$@" >>result.txt
mkdir -p large
head -c 11000000 /dev/zero >large/zeros.bin
"""
LARGE_SOURCE = b"weights of a model, kept by LFS\n" * 4096
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n"


@dataclass(slots=True)
class Executing(Reporting):
    """The Site of `Reporting` whose Runtime is active too, with one allocation for all stories."""

    sold: Allocation
    parties: dict[str, str]

    @classmethod
    def open(cls, reporting: Reporting, *users: str) -> Self:
        """Sell an allocation whose members, accounts of the host, have joined and consented; each account is
        confirmed when this returns.
        """
        sold = reporting.sell("proj_runs")
        reporting.account(sold.account, *users)
        made = cls(reporting.road, sold, {})
        for user in users:
            made.parties[user] = made.join(sold, user)
        made.wait_allocation(sold, lifecycle="ready")
        for user in users:
            made.wait_account(sold, user, state="ready")
            made.consent(user)
        return made

    def admit(self, user: str, number: int) -> Runs:
        """Somebody new: in the directory, in Slurm, a member, confirmed, and with a consent."""
        self.enter(user, number)
        self.slurm("add", "user", user, f"account={self.sold.account}")
        self.parties[user] = self.join(self.sold, user)
        self.wait_account(self.sold, user, state="ready")
        self.consent(user)
        return self.runs(user)

    def consent(self, user: str) -> str:
        """The member consents at its browser; what stands then."""
        return self.road.central.consent(user)

    def end_sessions(self, user: str) -> int:
        """The member, or the issuer's administrator, ends what was consented to; how many sessions."""
        issuer = self.road.central.facts()["oidc"]["issuer"]
        form = urlencode({"member": self.parties[user]})
        answer = urllib3.request("POST", f"{issuer}/development/end-sessions", body=form, timeout=20)
        return int(answer.json()["ended"])

    def runs(self, user: str) -> Runs:
        """The member's Runs."""
        member = self.road.central.member(self.parties[user])
        return Runs(self.road.central, member, self.sold.project)

    def repository(self, name: str) -> Repository:
        """A repository with a program, its input, and a large file that only LFS has."""
        source = self.road.work / "sources" / name
        source.mkdir(parents=True)
        oid = sha256(LARGE_SOURCE).hexdigest()
        (source / "run.sh").write_text(PROGRAM)
        (source / "input.txt").write_text("seed\n")
        (source / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
        (source / "model.bin").write_text(POINTER.format(oid=oid, size=len(LARGE_SOURCE)))
        made = Repository.make(self.road.central, name, source)
        made.bare(self.road.central).joinpath("lfs", oid).write_bytes(LARGE_SOURCE)
        return made

    # What ran.

    def job(self, number: str, *fields: str) -> dict[str, str]:
        """Fields of a job as accounting has it (sacct(1))."""
        words = ["sacct", "-nPX", "-j", number, "-o", ",".join(fields)]
        (line,) = self.road.host.exec(words).stdout.splitlines()
        return dict(zip(fields, line.split("|"), strict=True))

    def queued(self) -> list[dict[str, str]]:
        """Every job that waits or runs: id, name, user, state."""
        shown = self.road.host.exec(["squeue", "-h", "-o", "%i|%j|%u|%T"]).stdout
        names = ("id", "name", "user", "state")
        return [dict(zip(names, line.split("|"), strict=True)) for line in shown.splitlines()]

    def wait_running(self, runs: Runs, run: str, stage: str = "compute") -> str:
        """Until the stage's job runs; its id."""
        runs.wait(run, lambda shown: bool(stages(shown).get(stage, {}).get("jobId")) or has_ended(shown))
        number = str(stages(runs.show(run))[stage]["jobId"])
        running = {"id": number, "state": "RUNNING"}.items()
        assert wait_until(lambda: any(running <= job.items() for job in self.queued()), 60.0, every=0.2)
        return number

    def let_go(self, user: str, runs: Runs, run: str) -> None:
        """A Run of `HELD` goes on."""
        (attempt,) = runs.show(run)["attempts"]
        self.road.host.exec(["touch", f"{SCRATCH}/{user}/{attempt['attemptId']}/go"], user=user)

    def grants(self) -> list[str]:
        """What the Runtime holds ready for Attempts at this moment (S4)."""
        return self.road.host.exec(["ls", f"{SCRATCH}/.runtime"]).stdout.split()

    def wait_idle(self) -> None:
        """Until nothing of any Run is left at the Site, whichever story it was of."""

        def idle() -> bool:
            return self.queued() == [] and self.grants() == []

        assert wait_until(idle, 60.0, every=0.3), (self.queued(), self.grants())

    # What central kept.

    def kept(self, run: str) -> Run:
        """The Run as central keeps it, usage and actor included."""
        with opened(operator_settings(self.road.central.state)) as database:
            found = PostgresRuns(database).by_id(UUID(run))
        assert found is not None
        return found

    def wait_released(self, run: str) -> Run:
        """Until its cleanup is done and the account is needed no more (P27)."""
        assert wait_until(lambda: self.kept(run).released, 60.0, every=0.3), self.explained("run", run)
        return self.kept(run)

    def credentials(self, run: str) -> tuple[int, int]:
        """How many the Git host was asked for, and how many of them still open something (S2)."""
        ((asked, standing),) = self.rows(
            "SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL)"
            " FROM execution.credentials WHERE run_id = %s",
            run,
        )
        return asked, standing
