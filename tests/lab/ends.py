"""How a job comes to an end that its own program did not choose, made by Slurm itself wherever a host without
cgroups can: what an administrator, another partition's job, a node or accounting does to it (S1, A05, A10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests import long
from tests.lab.outages import state
from tests.lab.running import Running, until

# Beside the lab's own slurm.conf: a partition that preempts, a slow epilog on demand, a lagging accounting.
SETTINGS = r"""
sed -i 's/^\(PartitionName=compute .*\)/\1 PriorityTier=1 PreemptMode=REQUEUE/' /etc/slurm/slurm.conf
cat >> /etc/slurm/slurm.conf <<'X'
PartitionName=urgent Nodes=cn01 MaxTime=1-00:00:00 State=UP PriorityTier=10 PreemptMode=OFF
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
Epilog=/etc/slurm/epilog
X
printf '#!/bin/sh\n[ -e /run/slow-epilog ] && sleep 3\nexit 0\n' > /etc/slurm/epilog
chmod 755 /etc/slurm/epilog
echo CommitDelay=1 >> /etc/slurm/slurmdbd.conf
systemctl restart slurmdbd
systemctl restart slurmctld slurmd
"""
# A rerun within the second of the revocation of its credential is refused: two seconds later is soon enough.
SOON = "now+2"


@dataclass(frozen=True, slots=True)
class Ending:
    """`act` is told the running job; `verdict`, `exit_code`, `signal`, `code` are what central is to hear."""

    name: str
    act: Callable[[Running, str], object]
    verdict: str
    exit_code: int | None = 0
    signal: int | None = 0
    code: str | None = None


def _update(scene: Running, job: str, *changes: str) -> None:
    scene.host.exec(["scontrol", "update", f"JobId={job}", *changes])


def _scancel(user: str | None) -> Callable[[Running, str], object]:
    return lambda scene, job: scene.slurm("scancel", job, user=user)


def _killed(scene: Running, job: str) -> None:
    """Its processes, by somebody at the node."""
    assert state(scene, job) == "RUNNING"
    scene.host.exec(["pkill", "-KILL", "-u", "alice", "-x", "sleep"])


def _deadline(scene: Running, job: str) -> None:
    """A job that cannot begin before its deadline is over; it was requeued, so it waits."""
    scene.host.exec(["scontrol", "requeuehold", job])
    assert until(lambda: state(scene, job) == "PENDING", 60.0)
    _update(scene, job, "TimeLimit=1", "Deadline=now+62", "StartTime=now+4")
    scene.host.exec(["scontrol", "release", job])


def _preempted(scene: Running, mode: str) -> None:
    scene.host.exec(["scontrol", "update", "PartitionName=compute", f"PreemptMode={mode}"])
    urgent = "sbatch --parsable -D /tmp -A pharos -o /dev/null -p urgent --exclusive --wrap=true"
    assert scene.slurm(*urgent.split(), user="bob")


def _node_down(scene: Running, job: str, *, requeue: bool) -> None:
    _update(scene, job, f"Requeue={int(requeue)}")
    scene.host.exec(["scontrol", "update", "NodeName=cn01", "State=DOWN", "Reason=test"])
    assert until(lambda: state(scene, job) in {"NODE_FAIL", "PENDING"}, 60.0)
    node_up(scene)


def partition(scene: Running, state: str) -> None:
    """DOWN: jobs are taken and wait; UP: they run."""
    for name in ("staging", "compute"):
        scene.host.exec(["scontrol", "update", f"PartitionName={name}", f"State={state}"])


def node_up(scene: Running) -> None:
    """The node takes jobs again; said once more to one that does is no fault."""
    scene.host.exec(["scontrol", "update", "NodeName=cn01", "State=RESUME"], check=False)


def rerun_soon(scene: Running, job: str) -> None:
    """Slurm keeps a requeued job for two minutes; an administrator lets it run again at once."""
    assert until(lambda: state(scene, job) == "PENDING", 60.0), state(scene, job)
    _update(scene, job, f"StartTime={SOON}")


# Slurm looks at time limits every half minute, and a limit is a whole minute.
TIME_LIMIT = Ending("time limit", lambda scene, job: _update(scene, job, "TimeLimit=1"), "timed_out")
ENDINGS = (
    Ending("cancelled by the member", _scancel("alice"), "cancelled"),
    Ending("cancelled by an administrator", _scancel(None), "cancelled"),
    Ending("killed", _killed, "failed", signal=9),
    Ending("deadline", _deadline, "timed_out", 1, code="deadline"),
    Ending("preempted", lambda scene, _: _preempted(scene, "CANCEL"), "failed", code="preempted"),
    Ending("node failed", lambda scene, job: _node_down(scene, job, requeue=False), "node_failed", 1),
    *([TIME_LIMIT] if long.SOAK else []),
)  # fmt: skip
RERUNS: dict[str, Callable[[Running, str], object]] = {
    "requeued": lambda scene, job: scene.host.exec(["scontrol", "requeue", job]),
    "preempted": lambda scene, _: _preempted(scene, "REQUEUE"),
    "node failed": lambda scene, job: _node_down(scene, job, requeue=True),
}


@dataclass(frozen=True, slots=True)
class Written:
    """An end that accounting has and this host cannot make: state and exit status as slurmdbd keeps them."""

    name: str
    number: int
    status: int
    verdict: str
    exit_code: int
    signal: int
    code: str | None = None


WRITTEN = (
    Written("TIMEOUT", 6, 0, "timed_out", 0, 0),
    Written("OUT_OF_MEMORY", 11, 125, "out_of_memory", 0, 125),
    Written("BOOT_FAIL", 9, 1 << 8, "node_failed", 1, 0, "boot_failed"),
)


def write_end(scene: Running, job: str, end: Written) -> None:
    """Into the row of slurmdbd's own database (slurm_acct_db, enum job_states of slurm.h)."""
    scene.host.exec(
        [
            "mariadb", "slurm_acct_db", "-e",
            f"update icarus_job_table set state={end.number}, exit_code={end.status} where id_job={int(job)}",
        ]
    )  # fmt: skip
