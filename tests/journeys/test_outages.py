"""What stands still comes back right: directory, central, agent and host go down in turn (S7, A and B cases).

After each: still right, and each key exactly once in the directory.
"""

import pytest

from tests.journeys.observing import UNIT, each_key_once, linked, main_pid, unit, wait_for_keys, wait_ready
from tests.journeys.road import Road
from tests.lab.processes import wait_until
from tests.lab.sshlogin import MemberKey, forget_cached, go_online, login

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def key(active: Road) -> MemberKey:
    """A key of alice that is active from the beginning and stays."""
    made = active.key("standing")
    member = active.central.member("alice")
    member.wait_for(member.add_key(made.public)["keyId"], "active")
    return made


def a_key_comes_and_goes(road: Road, standing: MemberKey, name: str) -> None:
    """The whole way works: in at central, in the directory once, out again."""
    fresh, member = road.key(name), road.central.member("alice")
    added = member.add_key(fresh.public)["keyId"]
    member.wait_for(added, "active")
    assert each_key_once(road, "alice", standing.public, fresh.public)
    member.remove_key(added)
    member.wait_for(added, "removed")
    assert each_key_once(road, "alice", standing.public)


def test_slapd_restarted(active: Road, key: MemberKey) -> None:
    pid = main_pid(active)
    active.host.exec(["systemctl", "restart", "slapd"])
    go_online(active.host)
    a_key_comes_and_goes(active, key, "after-slapd")
    assert main_pid(active) == pid, "the agent restarted for a directory that did"


def test_slapd_away_while_a_key_is_entered(active: Road, key: MemberKey) -> None:
    """Unreachable is not empty: the key waits, nothing is refused, and it goes in once (X1)."""
    member, fresh = active.central.member("alice"), active.key("while-away")
    active.host.exec(["systemctl", "stop", "slapd"])
    added = member.add_key(fresh.public)["keyId"]
    assert wait_until(lambda: active.admin.agent_status()["state"] == "degraded", 60, every=0.5)
    assert member.key(added)["state"] == "pending"
    active.host.exec(["systemctl", "start", "slapd"])
    member.wait_for(added, "active", seconds=120)
    wait_for_keys(active, "alice", key.public, fresh.public)
    member.remove_key(added)
    member.wait_for(added, "removed")
    wait_ready(active, linked(active))
    go_online(active.host)


def test_central_restarted(active: Road, key: MemberKey) -> None:
    before = active.admin.agent_status()
    active.stop_central()
    forget_cached(active.host, "alice")
    entered = login(active.host, "alice", key)
    assert entered.returncode == 0, f"a login needs central: {entered.stderr}"
    active.start_central()
    after = wait_ready(active, before["release"], seconds=120)
    assert after["pid"] == before["pid"], "the agent restarted for a central that did"
    assert after["feed"]["accepted"] == before["feed"]["accepted"]
    a_key_comes_and_goes(active, key, "after-central")


def test_agent_killed(active: Road, key: MemberKey) -> None:
    pid, release = main_pid(active), linked(active)
    active.host.exec(["systemctl", "kill", "--signal=SIGKILL", UNIT])
    assert wait_until(lambda: main_pid(active) not in (0, pid), 60, every=0.2)
    wait_ready(active, release)
    assert each_key_once(active, "alice", key.public)
    a_key_comes_and_goes(active, key, "after-kill")


def test_agent_killed_again_and_again_amid_changes(active: Road, key: MemberKey) -> None:
    """Wherever it dies between reading, writing, journalling and reporting: each key once."""
    member = active.central.member("alice")
    keys = [active.key(f"amid-{number}") for number in range(4)]
    ids = []
    for fresh in keys:
        ids.append(member.add_key(fresh.public)["keyId"])
        active.host.exec(["systemctl", "kill", "--signal=SIGKILL", UNIT], check=False)
    for added in ids:
        member.wait_for(added, "active", seconds=120)
    assert each_key_once(active, "alice", key.public, *(fresh.public for fresh in keys))
    for added in ids:
        member.remove_key(added)
        active.host.exec(["systemctl", "kill", "--signal=SIGKILL", UNIT], check=False)
    for added in ids:
        member.wait_for(added, "removed", seconds=120)
    assert each_key_once(active, "alice", key.public)


def test_all_of_them_in_between(active: Road, key: MemberKey) -> None:
    """slapd restarted, central restarted, agent killed, with a key on its way."""
    member, fresh = active.central.member("alice"), active.key("in-between")
    active.host.exec(["systemctl", "stop", "slapd"])
    added = member.add_key(fresh.public)["keyId"]
    active.stop_central()
    active.host.exec(["systemctl", "kill", "--signal=SIGKILL", UNIT])
    active.start_central()
    active.host.exec(["systemctl", "start", "slapd"])
    active.central.member("alice").wait_for(added, "active", seconds=180)
    assert each_key_once(active, "alice", key.public, fresh.public)


def test_host_rebooted(active: Road, key: MemberKey) -> None:
    release = linked(active)
    active.host.reboot()
    wait_ready(active, release, seconds=120)
    assert unit(active, "ActiveState")["ActiveState"] == "active"
    forget_cached(active.host, "alice")
    assert login(active.host, "alice", key).returncode == 0
