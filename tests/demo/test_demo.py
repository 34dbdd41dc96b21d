"""``make demo`` and ``make demo-down`` as they are typed (X8)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.demo.standing import find_standing
from tests.journeys.releases import ROOT
from tests.lab.erase import traces
from tests.lab.fixtures import lab_tree
from tests.lab.reclaim import reclaim
from tests.lab.registry import HostRecord
from tests.lab.tree import HostTree

__all__ = ["lab_tree"]

pytestmark = [pytest.mark.lab, pytest.mark.slow]
DEMO = [sys.executable, "-m", "tests.demo"]


@pytest.fixture(autouse=True)
def _nobodys_demo(lab_tree: HostTree) -> Iterator[None]:
    """A demo somebody looks at is not ours to end."""
    if find_standing() is not None:
        pytest.skip("a demo stands on this machine: make demo-down first")
    yield
    subprocess.run([*DEMO, "--down"], cwd=ROOT, timeout=120)


def standing() -> HostRecord:
    """The host of the demo that stands."""
    record = find_standing()
    assert record is not None
    return record


def processes() -> str:
    """Command lines of this machine, whole."""
    return subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def nothing_is_left(record: HostRecord) -> None:
    assert find_standing() is None
    assert traces(record.slot) == []
    assert record.scratch is not None
    assert not record.scratch.exists()
    assert str(record.scratch) not in processes()


def test_the_demo_shows_everything_stays_and_goes() -> None:
    env = {**os.environ, "NO_COLOR": "1"}
    shown = subprocess.run(DEMO, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "\x1b" not in shown.stdout
    for words in ("activate 0.1.0", "Permission denied", "uid=5000001(alice)", "Roll back", "make demo-down"):
        assert words in shown.stdout
    record = standing()
    assert record.name in reclaim().living
    assert f"tests.lab shell {record.name}" in shown.stdout
    assert str(record.scratch) in processes()
    down = subprocess.run([*DEMO, "--down"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (down.returncode, down.stdout) == (0, "demo: ended, nothing is left\n")
    nothing_is_left(record)


@pytest.mark.parametrize("sweeper", ["tests.demo --down", "tests.lab reclaim"])
def test_a_killed_demo_is_swept_away(sweeper: str) -> None:
    with subprocess.Popen(DEMO, cwd=ROOT, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "preflight" in line:
                break
        record = standing()
        os.kill(demo.pid, signal.SIGKILL)
    swept = subprocess.run(
        [sys.executable, "-m", *sweeper.split()], cwd=ROOT, capture_output=True, timeout=120
    )
    assert swept.returncode == 0, swept.stderr
    nothing_is_left(record)


def test_without_a_demo_there_is_nothing_to_end() -> None:
    down = subprocess.run([*DEMO, "--down"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (down.returncode, down.stdout) == (0, "demo: none was running\n")
