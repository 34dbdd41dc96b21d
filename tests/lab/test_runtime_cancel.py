"""A cancel in every state a stage can be in, and the grant's release after every end: nothing runs on,
nothing is begun, the verdict is the job's own, and neither helper nor CA is left (E7, S1, S4, S5; A36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.lab.ends import SETTINGS, partition
from tests.lab.outages import SLOW_GIT, prepared, running, state
from tests.lab.running import Attempt, Running, refused, scene_on, until
from tests.lab.tree import HostTree
from tests.simulators.git.server_state import Faults
from tests.simulators.site_api.commands import Issued

pytestmark = pytest.mark.lab
STAGES = ("stage-in", "compute", "stage-out")
GRANTS = "/scratch/pharos/.runtime"


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        made.host.exec(["bash", "-ec", SETTINGS])
        made.desk.valid_seconds = 600.0
        made.start()
        assert until(lambda: "idle" in made.slurm("sinfo", "-h", "-p", "compute"), 60.0)
        prepared(made)  # it runs, and has asked every owner
        yield made


@pytest.fixture(scope="module")
def pool(scene: Running) -> list[Attempt]:
    """Attempts to be cancelled: each can be only once."""
    return prepared(scene, 7)


def ask(attempt: Attempt, stage: str) -> Issued:
    if stage == "compute":
        return attempt.compute("sleep", "300")
    return attempt.submit("stage-in") if stage == "stage-in" else attempt.stage_out("result.txt")


def grants(scene: Running, attempt: Attempt) -> list[str]:
    return [name for name in scene.slurm("ls", GRANTS).split() if name.startswith(attempt.attempt_id)]


def over(scene: Running, attempt: Attempt, cancel: Issued) -> None:
    """The cancel is done, no stage is begun any more, and a cleanup leaves nothing of the Attempt."""
    assert attempt.result(cancel)["verdict"] == "completed"
    late = ask(attempt, "compute")
    assert scene.desk.wait(lambda: refused(late), 60.0) and attempt.ack(late)["code"] == "attempt_cancelled"
    assert scene.jobs(late) == []
    assert attempt.result(attempt.cleanup())["verdict"] == "completed"
    assert grants(scene, attempt) == []


@pytest.mark.parametrize("stage", STAGES)
def test_e7_cancel_of_each_stage_that_runs(scene: Running, pool: list[Attempt], stage: str) -> None:
    scene.repositories.faults = Faults(seconds=SLOW_GIT * 4, times=2)
    attempt = Attempt(scene) if stage == "stage-in" else pool.pop()
    issued = ask(attempt, stage)
    job = attempt.ack(issued)["jobId"]
    assert running(scene, job)
    cancel = attempt.cancel()
    assert attempt.result(issued)["verdict"] == "cancelled"
    scene.repositories.faults = Faults()
    over(scene, attempt, cancel)
    assert scene.jobs(issued) == [job]


def test_e7_cancel_of_each_stage_that_waits_in_the_queue(scene: Running) -> None:
    partition(scene, "DOWN")
    attempts = {stage: Attempt(scene) for stage in STAGES}
    asked = {stage: ask(attempt, stage) for stage, attempt in attempts.items()}
    jobs = {stage: attempts[stage].ack(issued)["jobId"] for stage, issued in asked.items()}
    assert {state(scene, job) for job in jobs.values()} == {"PENDING"}
    cancels = {stage: attempt.cancel() for stage, attempt in attempts.items()}
    for stage, attempt in attempts.items():
        result = attempt.result(asked[stage])
        assert (result["verdict"], result["startedAt"]) == ("cancelled", None)
        over(scene, attempt, cancels[stage])
        assert scene.jobs(asked[stage]) == [jobs[stage]]
    partition(scene, "UP")


@pytest.mark.parametrize("stage", STAGES)
def test_e7_cancel_before_anything_was_submitted(scene: Running, stage: str) -> None:
    attempt = Attempt(scene)
    scene.desk.refuse_token = (503, "unavailable")
    try:
        issued = ask(attempt, stage)
        assert until(lambda: f"command={issued.body['commandId']} code=unavailable" in scene.log(), 60.0)
        cancel = attempt.cancel()
        assert scene.desk.wait(lambda: refused(issued), 60.0)
    finally:
        scene.desk.refuse_token = None
    assert attempt.ack(issued)["code"] == "attempt_cancelled"
    over(scene, attempt, cancel)
    assert scene.jobs(issued) == []


def test_e7_a33_cancel_while_nobody_knows_whether_there_is_a_job(scene: Running) -> None:
    """The controller is away and sbatch gave up: the cancel waits until the marker has told."""
    attempt = Attempt(scene)
    scene.host.exec(["systemctl", "stop", "slurmctld"])
    try:
        issued = attempt.submit("stage-in")
        assert until(lambda: scene.slurm("pgrep", "-x", "sbatch") != "", 60.0)
        assert until(lambda: scene.slurm("pgrep", "-x", "sbatch") == "", 60.0)
        cancel = attempt.cancel()
        assert not scene.desk.wait(lambda: cancel.ack is not None or issued.ack is not None, 3.0)
    finally:
        scene.host.exec(["systemctl", "start", "slurmctld"])
    assert scene.desk.wait(lambda: refused(issued), 60.0), scene.log()[-3000:]
    over(scene, attempt, cancel)
    assert scene.jobs(issued) == []


def test_e7_cancel_of_a_job_that_is_completing(scene: Running, pool: list[Attempt]) -> None:
    """Its program is over and the node is not: what it came to stands."""
    scene.host.exec(["touch", "/run/slow-epilog"])
    attempt = pool.pop()
    issued = attempt.compute("sh", "-c", "exit 7")
    job = attempt.ack(issued)["jobId"]
    assert until(lambda: state(scene, job) == "COMPLETING", 60.0)
    cancel = attempt.cancel()
    result = attempt.result(issued)
    scene.host.exec(["rm", "/run/slow-epilog"])
    assert (result["verdict"], result["exitCode"]) == ("failed", 7)
    over(scene, attempt, cancel)


def test_e7_cancel_after_the_verdict(scene: Running, pool: list[Attempt]) -> None:
    attempt = pool.pop()
    issued = attempt.compute("true")
    assert attempt.result(issued)["verdict"] == "completed"
    over(scene, attempt, attempt.cancel())
    assert scene.jobs(issued) == [attempt.ack(issued)["jobId"]]
    kept = scene.slurm("ls", f"/scratch/pharos/alice/{attempt.attempt_id}/work")
    assert "result.txt" in kept.split(), "the member's own workspace stays"


def test_s4_cleanup_waits_for_the_stage_that_still_asks_the_helper(scene: Running) -> None:
    scene.repositories.faults = Faults(seconds=SLOW_GIT, times=2)
    attempt = Attempt(scene)
    issued = attempt.submit("stage-in")
    assert running(scene, attempt.ack(issued)["jobId"])
    cleanup = attempt.cleanup()
    assert attempt.result(issued)["verdict"] == "completed"
    assert attempt.result(cleanup)["verdict"] == "completed"
    assert grants(scene, attempt) == []


def _requeued(scene: Running, job: str) -> None:
    scene.host.exec(["scontrol", "requeue", job])
    assert until(lambda: state(scene, job) == "PENDING", 60.0)


def _suspended(scene: Running, job: str) -> None:
    scene.host.exec(["scontrol", "suspend", job])
    assert until(lambda: state(scene, job) == "SUSPENDED", 60.0)


HOLDS: dict[str, Callable[[Running, str], None]] = {"requeued": _requeued, "suspended": _suspended}


@pytest.mark.parametrize("held", sorted(HOLDS))
def test_e7_a10_cancel_of_a_job_that_is_held_up(scene: Running, pool: list[Attempt], held: str) -> None:
    attempt = pool.pop()
    issued = ask(attempt, "compute")
    job = attempt.ack(issued)["jobId"]
    assert running(scene, job)
    HOLDS[held](scene, job)
    first, second = attempt.cancel(), attempt.cancel()
    assert attempt.result(issued)["verdict"] == "cancelled"
    assert attempt.result(second)["verdict"] == "completed", "asked twice, done twice"
    over(scene, attempt, first)
    assert scene.jobs(issued) == [job]


def test_s1_s4_killed_while_it_closes(scene: Running, pool: list[Attempt]) -> None:
    """Between the act and the journal: a cancel and a cleanup are done again, and change nothing."""
    attempt = pool.pop()
    issued = ask(attempt, "compute")
    job = attempt.ack(issued)["jobId"]
    assert running(scene, job)
    scene.start(die_at="closed")
    cancel = attempt.cancel()
    assert scene.ended(), scene.log()[-2000:]
    scene.start(die_at="closed", times=2)
    assert attempt.result(issued)["verdict"] == "cancelled"
    assert attempt.result(cancel)["verdict"] == "completed"
    assert grants(scene, attempt) != []
    cleanup = attempt.cleanup()
    assert scene.ended(), scene.log()[-2000:]
    assert grants(scene, attempt) == [] and cleanup.ack is None
    scene.start()
    assert attempt.result(cleanup)["verdict"] == "completed"
    assert scene.jobs(issued) == [job]


@pytest.mark.parametrize("name", ["intent-journalled", "submitted", "result-delivered"])
def test_s4_killed_attempts_leave_no_grant(scene: Running, name: str) -> None:
    attempt = Attempt(scene)
    scene.start(die_at=name)
    issued = attempt.submit("stage-in")
    assert scene.ended(), scene.log()[-2000:]
    assert grants(scene, attempt) != []
    cancel, cleanup = attempt.cancel(), attempt.cleanup()
    scene.start()
    assert attempt.result(cancel)["verdict"] == attempt.result(cleanup)["verdict"] == "completed"
    assert refused(issued) or attempt.result(issued)["verdict"] in {"cancelled", "completed"}
    assert len(scene.jobs(issued)) <= 1


def test_s4_at_last_nothing_is_left(scene: Running) -> None:
    """After every end above; what remains in the Runtime's folder belongs to Attempts nobody cleaned up."""
    cleaned = {
        each.body["attemptId"] for each in scene.desk.issued if each.body["action"]["act"] == "cleanup"
    }
    assert cleaned
    left = scene.slurm("ls", "-A", GRANTS).split()
    assert [name for name in left if name[:36] in cleaned or name.startswith(".")] == []
