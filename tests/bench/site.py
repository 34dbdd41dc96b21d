"""What an installation costs on a real host, each figure beside the plain way measured in the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

from tests.bench.measure import Result, seconds
from tests.journeys.administrator import DOWNLOADS
from tests.journeys.releases import Release
from tests.journeys.road import Road
from tests.lab.tree import ensure_tree

ROUNDS = 3
MANY = 15
PYTHON = "/usr/bin/python3.13"
CONTROLLER = "/opt/pharos-hpc/controller/current/bin/python"
UNIT = "pharos-ssh-access.service"
SCRIPT = Path(__file__).with_name("on_host.py")


@dataclass(slots=True)
class Installed:
    """A road on which release 0.1.0 is active and 0.2.0 is installed."""

    road: Road
    first: Release
    second: Release
    folder: str

    def on_host(self, what: str, *words: str) -> dict[str, float]:
        """The figures of one measure taken inside the host."""
        argv = [CONTROLLER, "-I", "-", what, *words]
        done = self.road.host.exec(argv, input=SCRIPT.read_text(), timeout=600.0)
        return cast(dict[str, float], json.loads(done.stdout))

    def unit(self, name: str) -> str:
        """One property of the agent's unit."""
        shown = self.road.host.exec(["systemctl", "show", UNIT, f"--property={name}", "--value"])
        return shown.stdout.strip()


@contextmanager
def installed() -> Iterator[Installed]:
    """A fresh host with both releases; everything is gone afterwards."""
    road = Road.enter(ensure_tree())
    try:
        road.start_central()
        first, second = road.build("0.1.0"), road.build("0.2.0")
        road.agree(first)
        folder = road.admin.receive(first.archive)
        road.install(folder)
        road.activate(folder)
        yield Installed(road, first, second, folder)
    finally:
        road.leave()


def install_vs_venv_pip(site: Installed) -> Result:
    """All environments of a release, the installer's way / ``python -m venv`` and its pip for each."""
    archive = f"{DOWNLOADS}/{site.first.archive.path.name}"
    figures = site.on_host("environments", site.folder, archive, PYTHON, str(ROUNDS))
    return Result(figures["ours_s"] / figures["venv_pip_s"], ROUNDS, figures)


def verify_vs_sha256sum(site: Installed) -> Result:
    """Verify an installed release / ``sha256sum`` of the same files."""
    release = f"/opt/pharos-hpc/releases/{site.first.release_id}"
    figures = site.on_host("verification", release, str(MANY))
    return Result(figures["verify_s"] / figures["sha256sum_s"], MANY, figures)


def start_vs_python(site: Installed) -> Result:
    """The agent's ``--version`` / a bare interpreter."""
    figures = site.on_host("starting", site.road.admin.agent_script(), PYTHON, str(MANY))
    return Result(figures["version_s"] / figures["python_s"], MANY, figures)


def rss_vs_python(site: Installed) -> Result:
    """Resident memory of the idle agent / of a bare interpreter."""
    figures = site.on_host("resident", site.unit("MainPID"), PYTHON, str(ROUNDS))
    return Result(figures["agent_kb"] / figures["python_kb"], ROUNDS, figures)


def install_nochange_s(site: Installed) -> Result:
    """A second ``./install.sh install`` of the same archive, as typed, in seconds."""
    times = [seconds(lambda: site.road.install(site.folder)) for _ in range(ROUNDS)]
    return Result(median(times), ROUNDS, {f"run_{number}": value for number, value in enumerate(times)})


def activate_gap_s(site: Installed) -> Result:
    """How long the agent is not active while ``activate`` switches releases, in seconds (systemd's clock)."""
    other = site.road.admin.receive(site.second.archive)
    site.road.install(other)
    gaps = []
    turns = ((other, site.second), (site.folder, site.first), (other, site.second))
    for folder, release in turns:
        site.road.activate(folder, "--release", release.release_id)
        left, entered = (int(site.unit(f"Active{edge}TimestampMonotonic")) for edge in ("Exit", "Enter"))
        gaps.append((entered - left) / 1e6)
    return Result(median(gaps), len(gaps), {f"switch_{number}": value for number, value in enumerate(gaps)})


MEASURES = (
    install_vs_venv_pip,
    verify_vs_sha256sum,
    start_vs_python,
    rss_vs_python,
    install_nochange_s,
    activate_gap_s,
)
