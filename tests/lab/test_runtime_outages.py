"""Each owner goes away while every stage runs and while every stage is asked for, on the host's own Slurm:
exactly one job a stage, the true verdict, or a wait that says why (S1, X1; A29, A32, A33).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.lab.outages import OUTAGES, SLOW_GIT, Outage, away, prepared, running
from tests.lab.running import Attempt, Running, scene_on, until
from tests.lab.tree import HostTree
from tests.simulators.git.server_state import Faults
from tests.simulators.site_api.commands import Issued

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        made.desk.valid_seconds = 600.0
        made.start()
        yield made


@pytest.fixture(scope="module")
def ready(scene: Running) -> list[Attempt]:
    """Two: stages of one Attempt are never asked for at once (S2)."""
    return prepared(scene, 2)


def each_stage(scene: Running, ready: Attempt, seconds: int) -> dict[str, tuple[Attempt, Issued]]:
    """One command a stage; `compute` takes a while and fails with 7."""
    fresh = Attempt(scene)
    return {
        "stage-in": (fresh, fresh.submit("stage-in")),
        "compute": (ready, ready.compute("sh", "-c", f"sleep {seconds}; exit 7")),
        "stage-out": (ready, ready.stage_out("result.txt")),
    }


def verdicts(asked: dict[str, tuple[Attempt, Issued]]) -> dict[str, tuple[str, object, object]]:
    told = {stage: attempt.result(issued, 90.0) for stage, (attempt, issued) in asked.items()}
    return {stage: (body["verdict"], body["exitCode"], body["code"]) for stage, body in told.items()}


TRUE = {
    "stage-in": ("completed", 0, None),
    "compute": ("failed", 7, None),
    "stage-out": ("completed", 0, None),
}


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.name)
def test_x1_a29_owner_away_in_every_stage(scene: Running, ready: list[Attempt], outage: Outage) -> None:
    scene.repositories.faults = Faults(seconds=SLOW_GIT, times=5)
    begun = each_stage(scene, ready[0], 2)
    jobs = [attempt.ack(issued)["jobId"] for attempt, issued in begun.values()]
    assert running(scene, *jobs), scene.slurm("squeue")
    with away(scene, outage):
        asked = each_stage(scene, ready[1], 0)
        if outage.waits:
            assert until(lambda: status_says(scene, outage.waits), 150.0), scene.log()[-2000:]
        scene.desk.wait(lambda: all(each.result for _, each in begun.values()), 4.0)
        told = [issued.result for _, issued in begun.values() if issued.result]
        assert "verdict" not in outage.loses or told == []
        assert "begin" not in outage.loses or [issued.ack for _, issued in asked.values()] == [None] * 3
        assert scene.runs()
    scene.repositories.faults = Faults()
    assert verdicts(begun) == TRUE
    assert verdicts(asked) == TRUE
    for _, issued in (*begun.values(), *asked.values()):
        assert scene.jobs(issued) == [(issued.ack or {})["jobId"]]


def status_says(scene: Running, code: str | None) -> bool:
    """Whether the running Runtime's own word is that commands wait for this."""
    shown = scene.ask("status", "--json").stdout
    return bool(shown) and json.loads(shown)["checks"]["commands"]["code"] == code


def test_x1_git_away_is_the_stages_own_end_and_named(scene: Running, ready: list[Attempt]) -> None:
    scene.repositories.faults = Faults(status=503)
    asked = each_stage(scene, ready[0], 0)
    try:
        assert verdicts(asked) == {
            "stage-in": ("failed", 84, "clone_failed"),
            "compute": ("failed", 7, None),
            "stage-out": ("failed", 84, "clone_failed"),
        }
    finally:
        scene.repositories.faults = Faults()
    assert verdicts(each_stage(scene, ready[0], 0)) == TRUE
    for _, issued in asked.values():
        assert len(scene.jobs(issued)) == 1
