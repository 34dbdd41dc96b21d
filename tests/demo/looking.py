"""What the demo said, and what a reader who types its printed lines then finds."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.journeys.releases import ROOT
from tests.lab.host import LabHost
from tests.lab.processes import ProcessIdentity, identify
from tests.lab.registry import HostRecord


def printed(said: str, what: str) -> str:
    """One of the demo's last lines."""
    (line,) = (line.partition(": ")[2].strip() for line in said.splitlines() if f"{what}:" in line)
    return line


def typed(line: str) -> dict[str, Any]:
    """A printed line as its reader types it, and its answer."""
    shell = ["bash", "-euo", "pipefail", "-c", line]
    answer = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


@dataclass(frozen=True, slots=True)
class Shown:
    """A demo that stands: what it said, its host, and its Runs in the order they were asked for."""

    said: str
    record: HostRecord

    @property
    def host(self) -> LabHost:
        return LabHost.attach(self.record.name)

    @property
    def central(self) -> Path:
        assert self.record.scratch is not None
        return self.record.scratch / "central"

    def processes(self) -> list[ProcessIdentity]:
        """Central's, its stand-ins' and PostgreSQL's, as they are now."""
        pids: dict[str, int] = json.loads((self.central / "dev.json").read_bytes())["pids"]
        found = {name: identify(pid) for name, pid in pids.items()}
        assert len(found) > 10 and None not in found.values(), found
        return [each for each in found.values() if each is not None]

    def run(self, run: str) -> dict[str, Any]:
        return typed(f"{self._runs}/{run}")

    def refs(self) -> dict[str, bytes]:
        """Bytes of ``result.txt`` at each ref that a Run wrote."""
        listed = self._git("for-each-ref", "--format=%(refname)", "refs/heads/pharos").decode().split()
        return {ref: self._git("show", f"{ref}:result.txt") for ref in listed}

    def runs(self) -> list[dict[str, Any]]:
        listed = typed(self._runs)["runs"]
        return [self.run(each["runId"]) for each in reversed(listed)]

    @property
    def _runs(self) -> str:
        return printed(self.said, "bob's Runs")

    def _git(self, *words: str) -> bytes:
        bare = self.central / "git/demo/work.git"
        return subprocess.run(["git", "-C", bare, *words], capture_output=True, check=True).stdout
