"""The reporter against the host's own Slurm 24.11 and directory, with a coordinator's rights and no more
(S8, S14, I7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.lab.host import LabHost
from tests.lab.reporting import BINDS, Reporting
from tests.lab.sshlogin import PEOPLE
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reporting]:
    with LabHost.up(tree=lab_tree, binds=BINDS) as host:
        made = Reporting(host, tmp_path_factory.mktemp("reporting"))
        yield made
        made.close()


def test_1_i7_doctor_finds_everything(scene: Reporting) -> None:
    done = scene.ask("doctor", "--json")
    checks = {item["id"]: item for item in json.loads(done.stdout)["checks"]}
    bad = {name: item for name, item in checks.items() if item["status"] != "pass"}
    assert bad.keys() == {"process"}, bad
    assert "accounts below pharos" in checks["slurm"]["found"]


def test_2_s14_observe_writes_nothing(scene: Reporting) -> None:
    document = scene.once(PHAROS_REPORTER_MODE="observe")
    assert {item["result"] for item in document["differences"]} == {"would"}
    assert set(scene.comments().values()) == {""}
    assert scene.states() == {"alice": ("incomplete", 1), "bob": ("incomplete", 1)}


def test_3_s8_a_coordinator_applies_many_in_one_command(scene: Reporting) -> None:
    document = scene.once()
    assert {item["result"] for item in document["differences"]} == {"applied"}, document
    assert document["commands"] == 4 + 3, "the reads, the write, the read-back, and the read before deciding"
    wanted = {row["username"]: f"pharos:1:{row['bindingId']}:1" for row in scene.rows}
    assert scene.comments() == wanted
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}
    again = scene.once()
    assert again["differences"] == [] and again["commands"] == 4


def test_4_s8_limits_and_use_are_slurms_own(scene: Reporting) -> None:
    submit = ["sbatch", "-D", "/tmp", "-A", "proj_a", "-n2", "-o", "/dev/null", "--wrap=sleep 120"]
    scene.host.exec(submit, user="alice")
    scene.host.exec(["sh", "-c", "until squeue -h -t R | grep -q .; do sleep 0.2; done"])
    scene.once()
    _, report = scene.platform.resources[scene.resource]
    assert report["applied"] == {"cpu": 8000, "gpu.gh200": 2, "memory": 16000 << 20}
    assert report["used"] == {"cpu": 2000}
    scene.host.exec(["scancel", "-u", "alice"])


def test_5_s8_rejoined_member_is_pending_until_applied(scene: Reporting) -> None:
    scene.rows[0]["generation"] = 2
    document = scene.once(PHAROS_REPORTER_MODE="observe")
    assert [note["code"] for note in document["notes"]] == ["generation_pending"]
    assert scene.states()["alice"] == ("ready", 1)
    scene.once()
    assert scene.states()["alice"] == ("ready", 2)


def test_6_p23_association_removed_and_added_again(scene: Reporting) -> None:
    before = {row["name"]: row["nativeUid"] for row in scene.platform.of(scene.resource) or []}
    scene.slurm("-i remove user where name=bob account=proj_a")
    scene.once()
    assert scene.states()["bob"] == ("incomplete", 1)
    scene.slurm("-i add user bob account=proj_a")
    scene.once()
    after = {row["name"]: row["nativeUid"] for row in scene.platform.of(scene.resource) or []}
    assert scene.states()["bob"] == ("ready", 1)
    assert after["alice"] == before["alice"] and after["bob"] != before["bob"]


def test_7_a29_w17_slurmdbd_down_says_nothing(scene: Reporting) -> None:
    arrived = len(scene.platform.arrived)
    scene.host.exec(["systemctl", "stop", "slurmdbd"])
    done = scene.ask("once")
    scene.host.exec(["systemctl", "start", "slurmdbd"])
    assert done.returncode == 3 and "slurm_unavailable" in done.stderr and "refused" in done.stderr
    assert len(scene.platform.arrived) == arrived
    assert scene.states().keys() == {"alice", "bob"}


def hide(scene: Reporting, *, hidden: bool) -> None:
    """The directory's administrators put a rule before all others that hides bob, or take it away."""
    rule = f'{{0}}to dn.exact="uid=bob,{PEOPLE}" by * none'
    change = f"add: olcAccess\nolcAccess: {rule}" if hidden else "delete: olcAccess\nolcAccess: {0}"
    text = f"dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\n{change}\n"
    scene.host.exec(["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"], input=text)


def test_8_x1_a_hidden_member_waits_until_shown_or_accepted(scene: Reporting) -> None:
    hide(scene, hidden=True)
    faults = scene.once()["faults"]
    assert [(fault["code"], fault["name"]) for fault in faults] == [("entry_hidden", "bob")]
    assert scene.states().keys() == {"alice", "bob"}
    done = scene.ask("accept-absence", "bob", "--reason", "ticket 4711")
    assert done.returncode == 0 and "accepted by root" in done.stdout, done.stderr
    assert scene.once()["faults"] == [] and scene.states().keys() == {"alice"}
    hide(scene, hidden=False)
    assert scene.once()["faults"] == [] and scene.states()["bob"] == ("ready", 1)


def test_9_i7_another_users_comment_is_not_the_reporters_to_write(scene: Reporting) -> None:
    """Outside the parent account the coordinator has no right, and the reporter does not try."""
    scene.slurm("-i add user alice account=other")
    scene.waldur.act(
        "change", table="resources", uuid=scene.resource.replace("-", ""), set={"backend_id": "other"}
    )
    document = scene.once()
    assert [fault["code"] for fault in document["faults"]] == ["account_outside_parent"]
    shown = scene.slurm("-nP show association cluster=icarus account=other user=alice format=Comment")
    assert shown.strip() == ""
