"""The Runtime is killed at every durable step, and answers are lost, on the host's own Slurm: exactly one job
a stage, true verdict (S1, X1; A32, A33). Owners that go away: test_runtime_outages.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.running import Attempt, Running, scene_on
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab

CHECKPOINTS = [
    "intent-journalled",
    "submitted",
    "job-journalled",
    "ack-sent",
    "ack-delivered",
    "look-journalled",
    "result-sent",
    "result-delivered",
]


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        yield made


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_s1_killed_at_a_checkpoint_one_job_and_its_verdict(scene: Running, name: str) -> None:
    attempt = Attempt(scene)
    scene.start(die_at=name)
    stage_in = attempt.submit("stage-in")
    assert scene.ended(), f"it did not come to {name}: {scene.log()[-2000:]}"
    scene.start()
    result = attempt.result(stage_in)
    assert (result["verdict"], result["exitCode"]) == ("completed", 0)
    assert len(scene.jobs(stage_in)) == 1
    assert attempt.ack(stage_in)["jobId"] == scene.jobs(stage_in)[0]


def test_s1_a33_answer_of_sbatch_lost(scene: Running) -> None:
    """sbatch is killed after slurmctld has the job: the marker finds it, nothing is submitted twice."""
    wrapper = (
        '#!/bin/sh\nn=$(cat /tmp/lost 2>/dev/null || echo 0)\nif [ "$1" != --version ] && [ $n = 1 ]; then\n'
    )
    wrapper += (
        'echo 0 >/tmp/lost; /usr/bin/sbatch "$@" >/dev/null; kill -9 $$\nfi\nexec /usr/bin/sbatch "$@"\n'
    )
    commands_ = ("squeue", "sacct", "scancel", "sacctmgr", "scontrol")
    scene.host.exec(["mkdir", "-p", "/opt/wrapped"])
    for command in commands_:
        scene.host.exec(["ln", "-sf", f"/usr/bin/{command}", f"/opt/wrapped/{command}"])
    scene.host.put("/opt/wrapped/sbatch", wrapper.encode(), mode=0o755)
    scene.host.put("/tmp/lost", b"1\n", mode=0o666, owner="pharos-runtime:pharos-runtime")
    env = scene.host.read("/etc/pharos-hpc/runtime.env")
    scene.host.put(
        "/etc/pharos-hpc/runtime.env", (env + "PHAROS_RUNTIME_SLURM_COMMANDS=/opt/wrapped\n").encode()
    )
    try:
        attempt = Attempt(scene)
        scene.start()
        stage_in = attempt.submit("stage-in")
        assert attempt.result(stage_in)["verdict"] == "completed"
        assert len(scene.jobs(stage_in)) == 1
        assert scene.host.read("/tmp/lost").strip() == "0"
    finally:
        scene.host.put("/etc/pharos-hpc/runtime.env", env.encode())


def test_x1_central_away_then_the_same_bytes(scene: Running) -> None:
    attempt = Attempt(scene)
    scene.start()
    attempt.result(attempt.submit("stage-in"))
    scene.api.server.faults.plan("ack", "lose", "drop")
    scene.api.server.faults.plan("result", "lose", "status:503")
    compute = attempt.compute("true")
    assert attempt.result(compute)["verdict"] == "completed"
    assert len(scene.jobs(compute)) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"uidNumber": 5000099}, "identity_changed"),
        ({"nativeUid": "00000000-0000-4000-8000-000000000001/999999"}, "identity_changed"),
        ({"username": "nobodyhere"}, "identity_changed"),
    ],
)
def test_e1_another_incarnation_is_refused(scene: Running, changes: dict[str, object], code: str) -> None:
    scene.start()
    attempt = Attempt(scene)
    attempt.identity |= changes
    issued = attempt.submit("stage-in")
    assert attempt.ack(issued)["code"] == code
    assert scene.jobs(issued) == []


def test_s12_definite_rejection_by_name(scene: Running) -> None:
    scene.start()
    attempt = Attempt(scene)
    issued = attempt.submit("stage-in", resources={"cpu": 99_000, "memory": 256 << 20})
    assert attempt.ack(issued)["code"] == "resources_unavailable"


def test_e2_command_past_its_validity_is_refused(scene: Running) -> None:
    scene.start()
    attempt = Attempt(scene)
    action = attempt.submit("stage-in").body["action"]
    expired = attempt.issue(action, validUntil="2026-01-01T00:00:00Z")
    assert attempt.ack(expired)["code"] == "command_expired"
    assert scene.jobs(expired) == []
