"""What a Runtime's lab host loses for a while: each owner by itself, really stopped (X1).

`loses` says what must not be concluded while it is away: `verdict` none of a job's end, `begin` nothing is
begun, `words` nothing is heard of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests import long
from tests.lab.running import Attempt, Running, until

SLOW_GIT = 1.5  # seconds a delayed request of Git takes: a stage is still running when its owner goes away
PURGE = "rm -f /var/lib/sss/db/cache_* /var/lib/sss/db/timestamps_* /var/lib/sss/mc/*"


@dataclass(frozen=True, slots=True)
class Outage:
    """One owner. `waits`: the code under which the Runtime says that a new stage waits; None: none does."""

    name: str
    begin: Callable[[Running], object]
    end: Callable[[Running], object]
    loses: frozenset[str]
    waits: str | None = None


def _stop(*units: str) -> Callable[[Running], object]:
    return lambda scene: scene.host.exec(["systemctl", "stop", *units])


def _start(*units: str) -> Callable[[Running], object]:
    return lambda scene: scene.host.exec(["systemctl", "start", *units])


def _signal(unit: str, name: str) -> Callable[[Running], object]:
    return lambda scene: scene.host.exec(["systemctl", "kill", "-s", name, unit])


def _names_go(scene: Running) -> None:
    """The directory is away and nothing of it is cached; the members' group is a local line, as sites make it
    for a local user to be in it.
    """
    line = "pharos-users:x:5500000:pharos-runtime"
    scene.host.exec(["sh", "-c", f"systemctl stop slapd sssd; {PURGE}; echo {line} >> /etc/group"])
    scene.host.exec(["systemctl", "start", "sssd"])


def _names_return(scene: Running) -> None:
    scene.host.exec(["sed", "-i", "/^pharos-users:/d", "/etc/group"])
    scene.host.exec(
        ["sh", "-c", f"systemctl start slapd; systemctl stop sssd; {PURGE}; systemctl start sssd"]
    )


SLURM = frozenset({"verdict", "begin"})
# slurmdbd without its database is as good as away and takes as long; one that hangs takes minutes.
LONG = (
    Outage("mariadb", _stop("mariadb"), _start("mariadb"), SLURM, "slurm_unavailable"),
    Outage(
        "slurmdbd hangs", _signal("slurmdbd", "STOP"), _signal("slurmdbd", "CONT"), SLURM, "slurm_unavailable"
    ),
)
OUTAGES = (
    Outage("slurmctld", _stop("slurmctld"), _start("slurmctld"), SLURM),
    Outage("slurmdbd", _stop("slurmdbd"), _start("slurmdbd"), SLURM, "slurm_unavailable"),
    Outage("slapd", _stop("slapd"), _start("slapd"), frozenset()),
    Outage("names", _names_go, _names_return, frozenset({"begin"}), "names_unavailable"),
    Outage(
        "central", lambda scene: scene.api.stop(), lambda scene: scene.api.start(),
        frozenset({"verdict", "begin", "words"}),
    ),
    *(LONG if long.SOAK else ()),
)  # fmt: skip


@contextmanager
def away(scene: Running, outage: Outage) -> Iterator[None]:
    """The owner is away inside the block, and there again whatever happens in it."""
    outage.begin(scene)
    try:
        yield
    finally:
        outage.end(scene)


def prepared(scene: Running, number: int = 1) -> list[Attempt]:
    """Attempts that were staged in and have an output, for stages that come after."""
    made = [Attempt(scene) for _ in range(number)]
    for stage in ("stage-in", "compute"):
        asked = [
            (one, one.submit(stage) if stage == "stage-in" else one.compute("sh", "run.sh", "x"))
            for one in made
        ]
        assert [one.result(issued)["verdict"] for one, issued in asked] == ["completed"] * number
    return made


def state(scene: Running, job: str) -> str:
    """squeue's word for a job; empty when it knows none."""
    return scene.slurm("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()


def running(scene: Running, *jobs: str, seconds: float = 20.0) -> bool:
    """Whether all of them came to run."""
    return until(lambda: {state(scene, job) for job in jobs} == {"RUNNING"}, seconds)
