"""``make demo`` and ``make demo-down`` as they are typed (X8)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.demo.looking import Shown, printed, typed
from tests.demo.promises import (
    a_run_of_the_readers_own,
    an_operator_is_told,
    each_run_ended_once_and_truly,
    the_page_answers,
    the_third_was_in_flight,
)
from tests.demo.standing import find_standing
from tests.demo.taking_off import taking_off
from tests.journeys.releases import ROOT
from tests.lab.erase import traces
from tests.lab.fixtures import lab_tree
from tests.lab.host import LabHost
from tests.lab.processes import is_alive
from tests.lab.reclaim import reclaim
from tests.lab.registry import HostRecord
from tests.lab.sshlogin import PEOPLE, MemberKey, directory_keys
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


def taken_off(host: LabHost) -> None:
    """Types the guide's way back from an activation: all of ours goes, nothing of the site's."""
    theirs = MemberKey.make(host.scratch / "keys", "theirs").public
    add = f"dn: uid=bob,{PEOPLE}\nchangetype: modify\nadd: sshPublicKey\nsshPublicKey: {theirs}\n"
    host.exec(["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"], input=add)
    assert len(directory_keys(host, "bob")) == 3
    host.exec(["sh"], input=f"cd $(mktemp -d)\n{taking_off()}")
    assert directory_keys(host, "bob") == [theirs]
    policy = host.exec(["ldapsearch", "-Q", "-LLL", "-Y", "EXTERNAL", "-H", "ldapi:///", "-b", "cn=config"])
    assert "pharos-ssh-access" not in policy.stdout
    assert host.exec(["getent", "passwd", "pharos-ssh-access"], check=False).returncode == 2
    places = ["/etc", "/opt", "/run", "/usr/lib", "/var/lib"]
    ours = host.exec(["find", *places, "-xdev", "-name", "*pharos-*", "-print"], check=False).stdout.split()
    assert "pharos-" not in host.exec(["sacctmgr", "-nP", "show", "account", "withcoord"]).stdout
    assert ours == ["/var/lib/pharos-agent"], "the lab's own alone"
    assert host.exec(["ls", "-A", "/scratch/pharos"]).stdout.split() == ["bob"], "members' workspaces alone"


def taken_down() -> str:
    """``make demo-down``, and what it says."""
    down = [*DEMO, "--down"]
    return subprocess.run(down, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True).stdout


def nothing_is_left(record: HostRecord) -> None:
    assert find_standing() is None
    assert traces(record.slot) == []
    assert record.scratch is not None
    assert not record.scratch.exists()
    assert str(record.scratch) not in processes()


def test_the_demo_shows_everything_stays_and_goes() -> None:
    env = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(DEMO, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    for words in (
        "activate 0.1.0",
        "proj_demo",
        "limits_not_applied",
        "Permission denied",
        "uid=5000001(alice)",
        "Roll back",
        "make demo-down",
    ):
        assert words in done.stdout
    record = standing()
    assert record.name in reclaim().living
    assert f"tests.lab shell {record.name}" in done.stdout
    assert str(record.scratch) in processes()
    keys = typed(printed(done.stdout, "bob's keys there"))["keys"]
    assert [key["state"] for key in keys] == ["active", "active"]
    shown = Shown(done.stdout, record)
    runs = shown.runs()
    each_run_ended_once_and_truly(shown, runs)
    the_third_was_in_flight(shown, runs[2])
    an_operator_is_told(shown, runs)
    the_page_answers(shown, runs)
    a_run_of_the_readers_own(shown)
    taken_off(shown.host)
    stood = shown.processes()
    assert taken_down() == "demo: ended, nothing is left\n"
    assert not [each for each in stood if is_alive(each)]
    nothing_is_left(record)


def test_a_killed_demo_is_swept_away_by_reclaim() -> None:
    with subprocess.Popen(DEMO, cwd=ROOT, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert any("Site API" in line for line in demo.stdout)
        record = standing()
        os.kill(demo.pid, signal.SIGKILL)
    sweep = [sys.executable, "-m", "tests.lab", "reclaim"]
    subprocess.run(sweep, cwd=ROOT, capture_output=True, timeout=120, check=True)
    nothing_is_left(record)


@pytest.mark.parametrize(
    ("title", "left"),
    [
        (" 1. ", "nothing of it is up"),
        ("preflight 0.1.0", "the host and what runs beside it are still up: make demo-down"),
    ],
    ids=["before-a-host", "with-a-host"],
)
def test_ctrl_c_says_what_is_left(title: str, left: str) -> None:
    # A session of its own, so that the terminal's Ctrl-C can be played: it goes to everything in front.
    # A shell that runs these tests in the background makes them ignore SIGINT; the demo must not inherit it.
    from_a_terminal = ["env", "--default-signal=INT", *DEMO]
    with subprocess.Popen(
        from_a_terminal,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        assert any(title in line for line in demo.stdout)
        os.killpg(demo.pid, signal.SIGINT)
        demo.stdout.read()
        said = demo.stderr.read()
    assert demo.returncode == 130, said
    assert said.startswith("demo: interrupted; ")
    assert said.endswith(f"{left}\n")
    assert said.count("\n") == 1
    if "up: make" in left:
        record = standing()
        assert LabHost.attach(record.name).running
        assert taken_down() == "demo: ended, nothing is left\n"
        nothing_is_left(record)


def test_without_a_demo_there_is_nothing_to_end() -> None:
    assert taken_down() == "demo: none was running\n"
