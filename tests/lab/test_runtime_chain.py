"""A Run's three stages on the host's own Slurm 24.11, as the member, from and to a Git server (S1–S4)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.host import LabHost
from tests.lab.running import BINDS, PASSWORD, Attempt, Running
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with LabHost.up(tree=lab_tree, binds=BINDS) as host:
        made = Running(host, tmp_path_factory.mktemp("running"))
        yield made
        made.close()


def test_1_s6_doctor_finds_every_owner(scene: Running) -> None:
    done = scene.ask("run", "--check-owners")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "coordinator of pharos" in done.stdout


def test_2_s2_s4_three_stages_and_their_output(scene: Running) -> None:
    scene.start()
    attempt = Attempt(scene)
    stage_in = attempt.submit("stage-in")
    result = attempt.result(stage_in)
    assert result["verdict"] == "completed", (
        result,
        scene.slurm("sh", "-c", "cat /scratch/pharos/alice/*/logs/*"),
    )
    assert scene.jobs(stage_in) == [stage_in.ack["jobId"]] if stage_in.ack else False
    compute = attempt.compute("sh", "run.sh", 'it\'s $HOME; *\n"two" lines')
    result = attempt.result(compute)
    assert (result["verdict"], result["exitCode"]) == ("completed", 0)
    assert result["usage"]["allocated"] == {"cpu": 1000, "memory": 256 << 20}
    stage_out = attempt.stage_out("result.txt")
    result = attempt.result(stage_out)
    assert result["verdict"] == "completed", (
        result,
        scene.slurm("sh", "-c", "cat /scratch/pharos/alice/*/logs/*"),
    )
    assert result["output"] == {
        "ref": attempt.ref,
        "commit": scene.repositories.refs("group/work.git")[attempt.ref],
    }
    attempt.result(attempt.cleanup())
    assert scene.slurm("ls", "/scratch/pharos/.runtime") == ""


def test_3_x5_k08_the_credential_is_nowhere(scene: Running) -> None:
    assert scene.tokens
    for planted in (PASSWORD, *scene.tokens):
        assert planted not in scene.log()
        found = scene.slurm(
            "grep", "-rlF", planted, "/var/lib/pharos-runtime", "/run/pharos-runtime", "/scratch"
        )
        assert found == ""
