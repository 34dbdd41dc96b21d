"""What the Runtime weighs and asks: measured on the lab host, printed (`-s`, or `-rP`), and held to S10.

A minute in a soak, some seconds of it in the usual run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests import long
from tests.lab.ends import partition
from tests.lab.running import CONSOLE, Attempt, Running, scene_on, until
from tests.lab.tree import HostTree

pytestmark = [pytest.mark.lab, pytest.mark.soak]
WINDOW = 60 if long.SOAK else 10
MANY = 50
BARE = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        made.desk.valid_seconds = 600.0
        yield made


@dataclass(frozen=True, slots=True)
class Measure:
    """Of the process since it began: times its threads gave the processor up, reads and writes, ticks of CPU;
    of slurmctld: RPCs of this user; RSS and its peak in KiB.
    """

    switches: int
    calls: int
    ticks: int
    rpcs: int
    commands: int
    rss: int
    peak: int


def measure(scene: Running) -> Measure:
    pid = scene.slurm("systemctl", "show", "-P", "MainPID", "driven-runtime").strip()
    shown = scene.slurm("sh", "-c", f"cat /proc/{pid}/task/*/status /proc/{pid}/io /proc/{pid}/status")

    def total(name: str) -> int:
        return sum(int(number) for number in re.findall(rf"(?m)^{name}:\s+([0-9]+)", shown))

    stat = scene.host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    users = re.search(r"(?m)^\s+pharos-runtime\s.*count:([0-9]+)", scene.slurm("sdiag"))
    status = json.loads(scene.ask("status", "--json").stdout)
    threads = len(scene.slurm("ls", f"/proc/{pid}/task").split())
    return Measure(
        # The process's own status shows its main thread a second time.
        switches=total("voluntary_ctxt_switches") * threads // (threads + 1),
        calls=total("syscr") + total("syscw"),
        ticks=int(stat[11]) + int(stat[12]),
        rpcs=int(users[1]) if users else 0,
        commands=sum(status["slurm"]["commands"].values()),
        rss=total("VmRSS") // (threads + 1),
        peak=total("VmHWM") // (threads + 1),
    )


def over(scene: Running, seconds: int) -> tuple[Measure, Measure]:
    """Before and after a while in which nobody asks for anything."""
    before = measure(scene)
    scene.host.exec(["sleep", str(seconds)], timeout=seconds + 30.0)
    return before, measure(scene)


def is_ready(scene: Running) -> bool:
    shown = scene.ask("status", "--json").stdout
    return bool(shown) and json.loads(shown)["state"] == "ready"


def test_s10_idle_it_asks_nobody_and_hardly_wakes(scene: Running) -> None:
    scene.program = CONSOLE
    scene.start()
    assert until(lambda: is_ready(scene), 60.0), scene.log()
    before, after = over(scene, WINDOW)
    bare = int(scene.slurm("python3.13", "-c", BARE))
    wakes, calls = after.switches - before.switches, after.calls - before.calls
    said = f"{wakes} wake-ups, {calls} reads and writes, {after.ticks - before.ticks} ticks"
    weight = f"RSS {after.rss / 1024:.1f} MiB, {after.rss / bare:.1f} x bare Python"
    print(f"idle for {WINDOW} s: {said}, {after.rpcs - before.rpcs} RPCs; {weight}")
    assert (after.rpcs, after.commands) == (before.rpcs, before.commands), "idle: asks nothing of Slurm"
    assert wakes <= WINDOW and calls <= 10 * WINDOW
    assert after.rss <= 4 * bare


def test_s10_slurm_is_asked_as_often_for_fifty_runs_as_for_one(scene: Running) -> None:
    """One squeue a look; what is begun costs its own submission and nothing later."""
    scene.program = ("tests.site.driven_runtime",)
    partition(scene, "DOWN")
    scene.start(limits={"least_look_seconds": 1.0, "most_look_seconds": 1.0})
    found = {}
    runs: list[Attempt] = []
    for number in (1, MANY):
        runs += [Attempt(scene) for _ in range(number - len(runs))]
        asked = [attempt.compute("true") for attempt in runs if attempt.attempt_id not in begun(scene)]
        assert scene.desk.wait(lambda asked=asked: all(one.ack for one in asked), 120.0)
        found[number] = over(scene, WINDOW)
    told = {number: (after.rpcs - before.rpcs, after.commands - before.commands)
            for number, (before, after) in found.items()}  # fmt: skip
    for number, (rpcs, commands) in told.items():
        each = f"{rpcs * 60 / WINDOW:.0f} RPCs and {commands * 60 / WINDOW:.0f} commands a minute"
        print(f"{number} in flight, a look a second: {each}; RSS {found[number][1].rss / 1024:.1f} MiB")
    assert told[1][0] > 0 and told[MANY][0] <= told[1][0] + 3, told
    assert told[1][1] > 0 and told[MANY][1] <= told[1][1] + 3, told
    scene.slurm("scancel", "-u", "alice")
    assert scene.desk.wait(lambda: all(one.result for one in scene.desk.issued), 60.0)
    assert {one.result["verdict"] for one in scene.desk.issued} == {"cancelled"}
    print(f"peak of {MANY} Runs: {measure(scene).peak / 1024:.1f} MiB")


def begun(scene: Running) -> set[str]:
    return {one.body["attemptId"] for one in scene.desk.issued if one.ack}


@pytest.mark.skipif(not long.SOAK, reason="its looks come 30 s apart: a minute of them is for the soak")
def test_s10_fifty_in_flight_at_the_real_pace(scene: Running) -> None:
    scene.program = CONSOLE
    scene.start()
    asked = [Attempt(scene).compute("true") for _ in range(MANY)]
    assert scene.desk.wait(lambda: all(one.ack for one in asked), 120.0)
    scene.host.exec(["sleep", "90"], timeout=120.0)
    before, after = over(scene, 60)
    rpcs, commands = after.rpcs - before.rpcs, after.commands - before.commands
    print(f"{MANY} in flight, at the real pace: {rpcs} RPCs and {commands} commands a minute")
    assert 0 < commands <= 4
