"""Ends that a job's own program did not choose, and jobs that run again or whose id another one bears: one
job a stage and the true verdict, while accounting lags (S1; A05, A10, A11, A12, A17, A32).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.ends import (
    ENDINGS,
    RERUNS,
    SETTINGS,
    WRITTEN,
    Ending,
    node_up,
    partition,
    rerun_soon,
    write_end,
)
from tests.lab.outages import prepared, running, state
from tests.lab.running import Attempt, Running, scene_on, until
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        made.host.exec(["bash", "-ec", SETTINGS])
        made.start()
        yield made


@pytest.fixture(scope="module")
def ready(scene: Running) -> Attempt:
    assert until(lambda: "idle" in scene.slurm("sinfo", "-h", "-p", "compute"), 60.0)
    return prepared(scene)[0]


def said(result: dict[str, Any]) -> tuple[object, ...]:
    return tuple(result[name] for name in ("verdict", "exitCode", "signal", "code"))


@pytest.mark.parametrize("end", ENDINGS, ids=lambda end: end.name.replace(" ", "-"))
def test_s1_a05_end_from_outside(scene: Running, ready: Attempt, end: Ending) -> None:
    compute = ready.compute("sleep", "300")
    job = ready.ack(compute)["jobId"]
    assert running(scene, job)
    end.act(scene, job)
    result = ready.result(compute, 180.0)  # a time limit is looked at every half minute
    assert said(result) == (end.verdict, end.exit_code, end.signal, end.code)
    assert scene.jobs(compute) == [job]


@pytest.mark.parametrize("again", sorted(RERUNS))
def test_s1_a10_a11_job_that_runs_again_is_one_job(scene: Running, ready: Attempt, again: str) -> None:
    """Its first run's end is none: neither in the queue nor in accounting."""
    node_up(scene)
    compute = ready.compute("sh", "-c", '[ -e "$0" ] && exit 3; touch "$0"; sleep 300', f"../{again}")
    job = ready.ack(compute)["jobId"]
    began = f"/scratch/pharos/alice/{ready.attempt_id}/{again}"
    assert until(lambda: scene.slurm("ls", began) != "", 60.0)
    RERUNS[again](scene, job)
    rerun_soon(scene, job)
    result = ready.result(compute)
    assert said(result) == ("failed", 3, 0, None)
    assert scene.jobs(compute) == [job]
    sacct = f"sacct -nPXD -j {job} -o ElapsedRaw"
    assert result["usage"]["elapsedSeconds"] == sum(map(int, scene.slurm(*sacct.split()).split()))


def test_s1_a05_ends_accounting_alone_can_have(scene: Running, ready: Attempt) -> None:
    partition(scene, "DOWN")
    asked = [ready.compute("true") for _ in WRITTEN]
    jobs = [ready.ack(issued)["jobId"] for issued in asked]
    scene.stop()
    partition(scene, "UP")
    sacct = f"sacct -nPXa -j {','.join(jobs)} -o State".split()
    completed = ["COMPLETED"] * len(jobs)
    assert until(lambda: scene.slurm(*sacct).split() == completed, 60.0), scene.slurm("squeue", "-t", "all")
    for job, end in zip(jobs, WRITTEN, strict=True):
        write_end(scene, job, end)
    scene.start()
    found = [said(ready.result(issued)) for issued in asked]
    assert found == [(end.verdict, end.exit_code, end.signal, end.code) for end in WRITTEN]


def test_s1_a12_job_id_that_others_bear_now(scene: Running, ready: Attempt) -> None:
    """slurmctld lost its state and counts from this job's own id again: other jobs get it, one of the same
    member. What is ours ends as it did, and a cancel touches none of theirs.
    """
    partition(scene, "DOWN")
    compute, later = ready.compute("sh", "-c", "exit 7"), Attempt(scene)
    job = ready.ack(compute)["jobId"]
    scene.stop()
    partition(scene, "UP")
    ended = f"sacct -nPXa -j {job} -o State"
    assert until(lambda: "FAILED" in scene.slurm(*ended.split()), 60.0)
    scene.host.exec(
        [
            "sh", "-ec",
            "systemctl stop slurmctld; rm -f /var/lib/slurm/ctld/job_state*;"
            f"echo FirstJobId={job} >> /etc/slurm/slurm.conf; systemctl start slurmctld",
        ]
    )  # fmt: skip
    sbatch = "sbatch --parsable -D /tmp -A pharos -o /dev/null -J {} --wrap".format(f"pharos:{uuid_like()}")
    assert until(lambda: "idle" in scene.slurm("sinfo", "-h", "-p", "compute"), 60.0)
    assert scene.slurm(*sbatch.split(), "sleep 300", user="alice").strip() == job
    cancel = ready.cancel()
    scene.start()
    assert said(ready.result(compute)) == ("failed", 7, 0, None)
    assert ready.result(cancel)["verdict"] == "completed"
    assert state(scene, job) in {"RUNNING", "PENDING"}
    stage_in = later.submit("stage-in")
    assert later.result(stage_in)["verdict"] == "completed"
    assert scene.jobs(stage_in) == [later.ack(stage_in)["jobId"]]
    scene.slurm("scancel", job)


def uuid_like() -> str:
    """Of a form a marker could have."""
    return "00000000-0000-4000-8000-000000000001"
