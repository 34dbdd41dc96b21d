"""A central that names whom it must not, and members who leave traps, on the host's own Slurm (S1–S4, I7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lab.running import Attempt, Running, scene_on, until
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("hostile")) as made:
        made.start()
        yield made


def association(scene: Running, user: str, account: str) -> str:
    shown = f"sacctmgr -nP show assoc cluster=icarus account={account} user={user} format=ID"
    return scene.slurm(*shown.split()).strip()


def test_1_i7_services_and_accounts_of_others_are_refused_though_slurm_would_take_them(
    scene: Running,
) -> None:
    """The coordinators have associations of their own, and a member may have one elsewhere."""
    scene.slurm("sacctmgr", "-i", "add", "user", "alice", "account=other")
    named: list[dict[str, Any]] = [scene.identity("pharos-agent"), scene.identity("pharos-runtime")]
    elsewhere = scene.identity("alice")
    entry = elsewhere["nativeUid"].split("/")[0]
    named.append(
        elsewhere | {"account": "other", "nativeUid": f"{entry}/{association(scene, 'alice', 'other')}"}
    )
    for identity in named:
        attempt = Attempt(scene)
        attempt.identity = identity
        stage_in = attempt.submit("stage-in")
        ack = attempt.ack(stage_in)
        assert (ack["outcome"], ack["code"]) == ("refused", "identity_outside_site"), identity
        assert stage_in.tokens == 0 and scene.jobs(stage_in) == []


@pytest.mark.parametrize("login", ["root", "bob", "pharos-agent"])
def test_2_s2_token_of_another_submits_nothing_and_the_members_own_goes_on(
    scene: Running, login: str
) -> None:
    """Slurm would run it as whoever the token names."""
    own: Callable[[str], str] = scene.desk.mint
    scene.desk.mint = lambda _login: own(login)
    try:
        attempt = Attempt(scene)
        compute = attempt.compute("true")
        assert until(
            lambda: "member_token_of_another" in scene.log().split(compute.body["commandId"])[-1], 60.0
        )
        assert compute.ack is None and scene.jobs(compute) == []
    finally:
        scene.desk.mint = own
    attempt.ack(compute, 90.0)
    assert len(scene.jobs(compute)) == 1


def test_3_s4_folder_that_another_member_made_before_is_refused_and_left(scene: Running) -> None:
    place = "/scratch/pharos/alice"
    scene.slurm("rm", "-rf", place)
    scene.slurm("mkdir", "-m", "0777", place, user="bob")
    mine = Attempt(scene)
    result = mine.result(mine.submit("stage-in"))
    assert (result["verdict"], result["code"]) == ("failed", "workspace_refused")
    assert scene.slurm("ls", "-A", place) == ""
    scene.slurm("rmdir", place)
    scene.slurm("ln", "-s", "/home", place, user="bob")
    result = mine.result(mine.submit("stage-in"))
    assert (result["verdict"], result["code"]) == ("failed", "workspace_refused")
    scene.slurm("rm", place)
    assert mine.result(mine.submit("stage-in"))["verdict"] == "completed"


def test_4_s4_what_a_member_left_beside_the_helper_does_not_keep_the_grant(scene: Running) -> None:
    """A deep folder of the member's in the drop folder, and a link to the journal: the cleanup is done, the
    Runtime runs on, its journal is whole, and the helper is gone.
    """
    attempt = Attempt(scene)
    assert attempt.result(attempt.submit("stage-in"))["verdict"] == "completed"
    grants = "/scratch/pharos/.runtime"
    found = f"find {grants} -mindepth 2 -maxdepth 2 -type d -path {grants}/{attempt.attempt_id}-*"
    drop = scene.slurm(*found.split()).strip()
    deep = f"cd {drop} && mkdir -m 0777 a && cd a && for n in $(seq 1200); do mkdir d && cd d; done; "
    scene.slurm("sh", "-c", f"{deep} ln -s /var/lib/pharos-runtime {drop}/journal", user="alice")
    before = scene.slurm("ls", "/var/lib/pharos-runtime")
    assert attempt.result(attempt.cleanup())["verdict"] == "completed"
    assert scene.runs() and scene.slurm("ls", "/var/lib/pharos-runtime") == before
    left = scene.slurm("ls", "-A", f"{drop}/..").split()
    assert left == [drop.rsplit("/", 1)[1]], "neither helper nor CA"
    other = Attempt(scene, "bob")
    assert other.result(other.submit("stage-in"))["verdict"] == "completed"


def test_5_a12_a33_job_with_the_markers_name_of_another_member_is_not_taken_for_ours(scene: Running) -> None:
    """Names are seen by everybody: bob gives his job the name of alice's, and hers is the one that counts."""
    attempt = Attempt(scene)
    assert attempt.result(attempt.submit("stage-in"))["verdict"] == "completed"
    compute = attempt.compute("sh", "-c", "sleep 4; exit 5")
    job = attempt.ack(compute)["jobId"]
    name = scene.slurm("squeue", "-h", "-j", job, "-o", "%j").strip()
    scene.slurm(
        "sbatch",
        "-J",
        name,
        "--comment",
        name,
        "-A",
        "pharos",
        "--wrap",
        "true",
        "-o",
        "/dev/null",
        user="bob",
    )
    result = attempt.result(compute)
    assert (result["verdict"], result["exitCode"]) == ("failed", 5)


def test_6_a43_job_of_a_member_who_left_the_directory_is_observed_and_cancelled(scene: Running) -> None:
    """And nobody else's is lost sight of meanwhile: Slurm's commands refuse a user who does not resolve."""
    first, second, other = Attempt(scene, "bob"), Attempt(scene, "bob"), Attempt(scene, "alice")
    for attempt in (first, second, other):
        assert attempt.result(attempt.submit("stage-in"))["verdict"] == "completed"
    ends, runs = first.compute("sleep", "15"), second.compute("sleep", "200")
    assert first.ack(ends)["outcome"] == second.ack(runs)["outcome"] == "accepted"
    asleep = [
        "pgrep",
        "-c",
        "-u",
        "5000002",
        "-x",
        "sleep",
    ]  # a job that begins later has no account any more
    assert until(lambda: scene.slurm(*asleep).strip() == "2", 60.0)
    entry = "uid=bob,ou=people,ou=pharos,dc=icarus,dc=example"
    scene.slurm("ldapdelete", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///", entry)
    scene.slurm("sss_cache", "-E")
    assert until(lambda: scene.slurm("getent", "passwd", "5000002") == "", 60.0)
    stays = other.compute("sleep", "2")
    second.cancel()
    assert first.result(ends)["verdict"] == "completed"
    assert second.result(runs)["verdict"] == "cancelled"
    assert other.result(stays)["verdict"] == "completed"
