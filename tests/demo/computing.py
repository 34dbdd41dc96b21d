"""What ``make demo`` shows of Runs: one through its stages, one cancelled, one in flight while the Site's
software is exchanged under it and back (E4, E7, S1).
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from tests.demo.looking import typed
from tests.demo.narrator import Narrator
from tests.journeys.central import Central
from tests.journeys.members import Member, MemberApiError
from tests.journeys.releases import ROOT
from tests.journeys.road import Road
from tests.journeys.runs import Repository, Runs, asked, has_ended, jobs, stages
from tests.lab.processes import wait_until
from tests.lab.sshlogin import MemberKey, login

SOURCE = Path(__file__).parent / "repository"
PROGRAM = ("sh", "mean.sh")
SIGNAL = "go-on"
"""The file in the member's home directory for which the Run in flight waits."""
IN_FLIGHT = ("sh", "-c", f"until [ -e ~/{SIGNAL} ]; do sleep 0.5; done; {' '.join(PROGRAM)}")


@dataclass(slots=True)
class Computing:
    """bob's Runs in one Project; alice may cancel them."""

    road: Road
    tell: Narrator
    bob: Runs
    alice: Runs
    repository: Repository

    @classmethod
    def prepare(cls, road: Road, tell: Narrator, project: str, bob: Member, alice: Member) -> Self:
        """What a member and a Git host's owner do before the first Run."""
        central, name = road.central, "demo/work.git"
        with tell.step("bob consents to Runs in his name; his repository lies at the Git host"):
            tell.typed("pharos-central dev consent --member bob")
            tell.fact(f"{central.consent('bob')}: central gets his tokens, for this Site's Slurm alone")
            tell.typed(f"pharos-central dev repository new --name {name} --from {SOURCE.relative_to(ROOT)}")
            made = Repository.make(central, name, SOURCE)
            tell.fact(f"{made.url} at {made.commit}")
        deadline = (datetime.now(UTC) + timedelta(days=7)).strftime("%Y-%m-%dT%H:%M:%SZ")
        computing = cls(road, tell, Runs(central, bob, project), Runs(central, alice, project), made)
        body = asked(made, PROGRAM) | {"deadline": deadline}
        computing.body.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        return computing

    @property
    def body(self) -> Path:
        """What the line of ``submitting`` sends."""
        return self.road.work / "run.json"

    def refused(self) -> None:
        """A Run that wants more than the Site has in force is refused at once (P31)."""
        wanted = asked(self.repository, PROGRAM)["resources"] | {"cpu": 9000}
        try:
            self.bob.start(self.repository, PROGRAM, resources=wanted)
        except MemberApiError as error:
            assert error.code == "limits_exceeded", error
            self.tell.fact(f"bob asks for a Run with 9 CPUs and is refused: {error.code}")
        else:
            raise AssertionError("a Run was accepted that wants more than the limits in force")

    def through(self) -> None:
        """A Run from commit to output, asked for with the very line that is shown."""
        with self.tell.step("bob asks for a Run: stage-in, compute, stage-out, each one Slurm job of his"):
            self.tell.typed(submitting(self))
            run = str(typed(submitting(self))["runId"])
            self.tell.fact(f"Run {run}")
            self._completed(run)

    def cancelled(self) -> None:
        """A Run that another member ends while it computes."""
        with self.tell.step("bob's second Run computes; alice, who may, cancels it"):
            run = self.bob.start(self.repository, ("sleep", "250"))
            job = self._computing(run)
            self.tell.fact(f"Run {run}")
            self.tell.typed(f"curl -X POST … {self.alice.url}/{run}/cancel")
            self.alice.cancel(run, "enough for a demo")
            shown = self._follow(run, has_ended)
            assert shown["state"] == "cancelled", self._explained(run)
            accounting = ["sacct", "-nPX", "-j", job, "-o", "User,State"]
            self.tell.typed(" ".join(accounting))
            self.tell.fact(self.road.host.exec(accounting).stdout.strip())
            self.tell.typed(f"pharos-central explain run {run}")
            self.tell.fact(self._explained(run))

    def take_off(self) -> str:
        """A Run that computes until it is told to go on; its id."""
        with self.tell.step("bob's third Run computes until he makes a file; the site upgrades meanwhile"):
            run = self.bob.start(self.repository, IN_FLIGHT)
            job = self._computing(run)
            self.tell.fact(f"Run {run}: job {job} waits for ~bob/{SIGNAL}")
        return run

    def in_flight(self, run: str, release_id: str) -> None:
        """That the Run computes on, and which release looks after it now."""
        job = str(_compute(self.bob.show(run))["jobId"])
        state, status = self._state(job), self.road.admin.agent_status("runtime")
        assert (state, status["release"]) == ("RUNNING", release_id), (state, status)
        self.tell.fact(f"job {job} is {state}; the runtime of {release_id} looks after it")

    def land(self, run: str, key: MemberKey) -> None:
        """The Run goes on and ends, once."""
        with self.tell.step("bob makes the file: his Run, begun before the upgrade, ends after the way back"):
            self.tell.typed(f"ssh bob@{self.road.host.addr} touch {SIGNAL}")
            done = login(self.road.host, "bob", key, f"touch {SIGNAL}")
            assert done.returncode == 0, done.stderr
            self._completed(run)

    def _completed(self, run: str) -> None:
        """Follows it to its good end: the output's bytes, one Slurm job a stage."""
        shown = self._follow(run, has_ended)
        assert shown["state"] == "completed", self._explained(run)
        ran = jobs(self.road.host, shown)
        assert all(len(each) == 1 for each in ran.values()), ran
        told = ", ".join(f"{stage} {each[0]}" for stage, each in ran.items())
        self.tell.fact(f"completed; accounting has one job a stage: {told}")
        ref = shown["output"]["ref"]
        self.tell.typed(f"git -C {self.repository.bare(self.road.central)} show {ref}:result.txt")
        self.tell.fact(self.repository.git(self.road.central, "show", f"{ref}:result.txt").decode())

    def _follow(self, run: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Tells what moved, each once, until it fits."""
        told: set[str] = set()

        def look(shown: dict[str, Any]) -> bool:
            for line in filter(lambda line: line not in told, moved(shown)):
                told.add(line)
                self.tell.fact(line)
            return fits(shown)

        return self.bob.wait(run, look)

    def _computing(self, run: str) -> str:
        """Until the job of its compute stage runs; the job."""
        shown = self.bob.wait(run, lambda shown: bool(_compute(shown).get("jobId")) or has_ended(shown))
        assert not has_ended(shown), self._explained(run)
        job = str(_compute(shown)["jobId"])
        assert wait_until(lambda: self._state(job) == "RUNNING", 60.0, every=0.2), self._state(job)
        return job

    def _explained(self, run: str) -> str:
        return self.road.central.administer("explain", "run", run).stdout.strip()

    def _state(self, job: str) -> str:
        return self.road.host.exec(["squeue", "-h", "-j", job, "-o", "%T"], check=False).stdout.strip()


def _compute(run: dict[str, Any]) -> dict[str, Any]:
    return stages(run).get("compute", {})


def moved(run: dict[str, Any]) -> list[str]:
    """A line for each stage that has a Slurm job: where it stands."""
    return [
        f"{name:<9}  job {stage['jobId']}  {stage['verdict'] or stage['state']}"
        for name, stage in stages(run).items()
        if stage["jobId"]
    ]


def submitting(computing: Computing) -> str:
    """The line that asks for a Run; the token goes through a pipe, not through argv (X5)."""
    central = computing.road.central
    return (
        f"{bearer(central, 'bob')} | curl -sS -H @- -H 'Content-Type: application/json'"
        f' -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" -d @{computing.body}'
        f" {computing.bob.url}"
    )


def bearer(central: Central, member: str) -> str:
    """The words that print a member's ``Authorization`` header, for ``curl -H @-``."""
    token = f"{sys.executable} -m central.cli dev token --state {central.state} --member {member}"
    return f"{token} | sed 's/^/Authorization: Bearer /'"
