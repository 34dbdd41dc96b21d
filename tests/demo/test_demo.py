"""``make demo`` and ``make demo-down`` as they are typed (X8)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.standing import NOTE
from tests.journeys.releases import ROOT
from tests.lab.fixtures import lab_tree
from tests.lab.reclaim import reclaim
from tests.lab.registry import Registry
from tests.lab.tree import HostTree

__all__ = ["lab_tree"]

pytestmark = [pytest.mark.lab, pytest.mark.slow]
DEMO = [sys.executable, "-m", "tests.demo"]


@pytest.fixture(autouse=True)
def _nobodys_demo(lab_tree: HostTree) -> Iterator[None]:
    """A demo somebody looks at is not ours to end."""
    if NOTE.exists():
        pytest.skip("a demo stands on this machine: make demo-down first")
    yield
    subprocess.run([*DEMO, "--down"], cwd=ROOT, timeout=120)


def nothing_is_left(folders: set[Path]) -> None:
    assert not NOTE.exists()
    assert set(Path("/tmp").glob("pharos-????????")) <= folders
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "central.cli dev --state /tmp/pharos-" not in shown


def folders() -> set[Path]:
    return set(Path("/tmp").glob("pharos-????????"))


def test_the_demo_shows_everything_stays_and_goes() -> None:
    before = folders()
    env = {**os.environ, "NO_COLOR": "1"}
    shown = subprocess.run(DEMO, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "\x1b" not in shown.stdout
    for words in ("activate 0.1.0", "Permission denied", "uid=5000001(alice)", "Roll back", "make demo-down"):
        assert words in shown.stdout
    (line,) = [line for line in shown.stdout.splitlines() if line.strip().startswith("be root on the host:")]
    name = line.split()[-1]
    assert name in reclaim().living
    down = subprocess.run([*DEMO, "--down"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (down.returncode, down.stdout) == (0, "demo: ended, nothing is left\n")
    assert name not in [record.name for record in Registry().records()]
    nothing_is_left(before)


def test_a_killed_demo_is_swept_away() -> None:
    before = folders()
    with subprocess.Popen(DEMO, cwd=ROOT, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "preflight" in line:
                break
        os.kill(demo.pid, signal.SIGKILL)
    down = subprocess.run([*DEMO, "--down"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert down.returncode == 0, down.stderr
    nothing_is_left(before)


def test_without_a_demo_there_is_nothing_to_end() -> None:
    down = subprocess.run([*DEMO, "--down"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (down.returncode, down.stdout) == (0, "demo: none was running\n")
