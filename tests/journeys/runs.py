"""A member's Runs over the Project API, their repositories, and the Slurm jobs of each stage (E4, S1)."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.journeys.central import SITE, Central
from tests.journeys.members import Member
from tests.lab.host import LabHost
from tests.lab.processes import wait_until

ENDED = frozenset({"completed", "failed", "cancelled", "timed_out"})
STAGES = ("stage-in", "compute", "stage-out")
WITHIN = 120.0
"""Seconds a Run of no work may take."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One at the Git host's stand-in: its name there, its URL and the commit of its files."""

    name: str
    url: str
    commit: str

    @classmethod
    def make(cls, central: Central, name: str, source: Path) -> "Repository":
        """Made there, with the files of ``source``."""
        words = ("--state", str(central.state), "--name", name, "--from", str(source))
        url, commit = central.operator("dev", "repository", "new", *words).split()
        return cls(name, url, commit)

    def bare(self, central: Central) -> Path:
        """Where the Git host keeps it."""
        return Path(central.facts()["runs"]["git"]["folder"]) / self.name

    def git(self, central: Central, *words: str) -> bytes:
        """``git WORDS…`` in the bare repository, as its host's owner."""
        bare = self.bare(central)
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            ["git", "-C", str(bare), *words], env=env, check=True, capture_output=True, timeout=60
        ).stdout


@dataclass(frozen=True, slots=True)
class Runs:
    """Those of one member in one Project."""

    central: Central
    member: Member
    project: str

    @property
    def url(self) -> str:
        """Where they are."""
        api = self.central.facts()["runs"]["projectApi"]["url"]
        return f"{api}/api/v1/projects/{self.project}/runs"

    def start(self, repository: Repository, argv: Sequence[str], **changes: Any) -> str:
        """Ask for one; its id."""
        body = asked(repository, argv) | changes
        return str(self.member.call("POST", self.url, body, (201,))["runId"])

    def cancel(self, run: str, reason: str | None = None) -> dict[str, Any]:
        """Ask for its end."""
        return self.member.call("POST", f"{self.url}/{run}/cancel", {"schema": 1, "reason": reason}, (202,))

    def show(self, run: str) -> dict[str, Any]:
        """The Run as it stands."""
        return self.member.call("GET", f"{self.url}/{run}")

    def wait(
        self, run: str, fits: Callable[[dict[str, Any]], bool], seconds: float = WITHIN
    ) -> dict[str, Any]:
        """The Run once it fits; AssertionError with what it is instead."""
        seen = [self.show(run)]

        def came() -> bool:
            seen[0] = self.show(run)
            return fits(seen[0])

        assert wait_until(came, seconds, every=0.3), f"after {seconds:g} s: {json.dumps(seen[0])}"
        return seen[0]


def asked(repository: Repository, argv: Sequence[str]) -> dict[str, Any]:
    """The body of a Run that uses little and hands back ``result.txt``."""
    deadline = datetime.now(UTC) + timedelta(hours=1)
    return {
        "schema": 1,
        "site": SITE,
        "allocationId": None,
        "repository": {"url": repository.url, "commit": repository.commit},
        "argv": list(argv),
        "environment": {},
        "resources": {"cpu": 1000, "memory": 256 << 20},
        "timeLimitSeconds": 300,
        "outputs": ["result.txt"],
        "deadline": deadline.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def has_ended(run: dict[str, Any]) -> bool:
    """Whether nothing of it moves any more."""
    return run["state"] in ENDED


def stages(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Stages of its latest Attempt by name."""
    return {stage["stage"]: stage for stage in run["attempts"][-1]["stages"]} if run["attempts"] else {}


def jobs(host: LabHost, run: dict[str, Any]) -> dict[str, list[str]]:
    """Every job accounting ever saw of each of its stages, of every Attempt: the marker names them (S1)."""
    shown = host.exec(["sacct", "-anPX", "-S", "2020-01-01", "-o", "JobID,JobName%200"]).stdout
    rows = [line.split("|", 1) for line in shown.splitlines()]
    return {
        stage: [
            job
            for attempt in run["attempts"]
            for job, name in rows
            if name.startswith(f"pharos:{attempt['attemptId']}:{stage}:")
        ]
        for stage in STAGES
    }
