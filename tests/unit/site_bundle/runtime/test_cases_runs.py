"""Faults others met with members' jobs, over the real journal (A33, A36, A43, W13, W22, W51; ColdFront's C12,
FirecREST's F14 and F16).
"""

from __future__ import annotations

import json
import pwd
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.adapters.host_accounts import HostAccounts
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.close_attempt import CloseAttempt
from site_bundle.runtime.application.ports import Closing
from site_bundle.runtime.application.take_look import take_look
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import Cancel
from tests.unit.site_bundle.runtime.scenes import COMMAND, UID, after, command, queued, run
from tests.unit.site_bundle.runtime.world import Died, World


def said(world: World) -> dict[str, Any]:
    return {word.kind: json.loads(word.body) for word in world.sent}


def test_w51_a43_job_of_who_left_runs_to_its_end(world: World) -> None:
    """Name, association and account are gone while it runs: nothing is asked about them any more."""
    world.receive(COMMAND)
    world.turn()
    world.who, world.ids, world.platform = None, frozenset(), set()
    world.turn(20)
    world.done = True
    world.turn(30)
    assert said(world)["result"]["verdict"] == "completed"


def test_firecrest_f14_a33_a_submission_nobody_answered_is_looked_for_before_another(world: World) -> None:
    """sbatch timed out after Slurm had the job; the Runtime is started again before anybody looked."""
    world.receive(replace(COMMAND, valid_until=after(900)))
    world.lose, world.die_at = 1, "submitted"
    with pytest.raises(Died):
        world.turn(10)
    world.restart()
    for at in (20, 200, 400):
        world.turn(at)
    assert len(world.jobs) == 1 and said(world)["ack"]["jobId"] == "7"


class Queue:
    """squeue and scancel: jobs of every state, and which of them were told to end."""

    def __init__(self, *jobs: Any) -> None:
        self.jobs, self.told = jobs, list[str]()
        self.refuses: set[str] = set()

    def queue(self, _accounts: object) -> tuple[Any, ...]:
        return tuple(self.jobs)

    def accounting(self, *_asked: object) -> tuple[Any, ...]:
        return ()

    def cancel(self, job_id: str) -> None:
        self.told.append(job_id)
        if job_id in self.refuses:
            raise UnavailableError("slurm_cancel_refused", found="scancel: exit 1")


def closing(world: World, cluster: Queue) -> CloseAttempt:
    anything: Any = world
    ports: Any = cluster
    return CloseAttempt(
        world.journal, ports, anything, Words(uuid4, encode_ack, encode_result), anything, observe=False
    )


def test_w22_firecrest_f16_a_cancel_ends_active_jobs_of_this_attempt_alone(world: World) -> None:
    """Not one that is over, not another Run's, not another user's under the same number or name."""
    world.receive(COMMAND)
    world.turn()
    marker = world.jobs[0].marker
    mine = queued(job_id="7", name=marker, comment=marker)
    queue = Queue(
        mine,
        replace(mine, job_id="8", name="pharos:another", comment=""),
        replace(mine, uid=UID + 1),
        replace(mine, job_id="70"),
    )
    asked = Closing(command(2, Cancel(UUID(int=5), "member_asked")))
    assert closing(world, queue).run(asked, now=after(20))
    assert queue.told == ["7"]
    over = Queue(replace(mine, state="COMPLETED"))
    assert closing(world, over).run(Closing(command(3, Cancel(UUID(int=5), "again"))), now=after(30))
    assert over.told == []


def test_a36_one_job_that_cannot_be_cancelled_stops_no_other_and_is_not_called_done(world: World) -> None:
    world.receive(COMMAND, command(2))
    world.turn()
    jobs = [
        queued(job_id=str(7 + n), name=job.marker, comment=job.marker) for n, job in enumerate(world.jobs)
    ]
    queue = Queue(*jobs)
    queue.refuses = {"7"}
    asked = Closing(command(3, Cancel(UUID(int=5), "member_asked")))
    with pytest.raises(UnavailableError):
        closing(world, queue).run(asked, now=after(20))
    assert queue.told == ["7", "8"]
    assert not [event for event in world.events if event[0] == "closed"]


def test_w13_c12_a_lookup_that_fails_is_not_the_absence_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """sssd away answers as for an unknown name; only beside another name of the directory is it proof."""

    def unknown(name: str) -> pwd.struct_passwd:
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", unknown)
    jobs: Any = SimpleNamespace()
    assert HostAccounts(jobs, "pharos-users", lambda _name: True, "pharos").account("alice") is None
    with pytest.raises(UnavailableError):
        HostAccounts(jobs, "pharos-users", lambda _name: False, "pharos").account("alice")


class Moved:
    """A job that its owner moved to another account while it waited: the queue has it there alone."""

    def __init__(self, world: World) -> None:
        self.job = queued("PENDING", job_id="7", name=world.jobs[0].marker)
        self.asked: list[list[str]] = []
        self.told: list[str] = []

    def queue(self, accounts: list[str]) -> tuple[Any, ...]:
        self.asked.append(accounts)
        return (self.job,) if "theirs" in accounts else ()

    def accounting(self, _accounts: object, _since: object, jobs: list[str]) -> tuple[Any, ...]:
        assert jobs == ["7"]
        return (run("PENDING", name=self.job.name, started_at=None, ended_at=None, account="theirs"),)

    def cancel(self, job_id: str) -> None:
        self.told.append(job_id)


def test_e7_a43_job_moved_to_another_account_is_neither_lost_nor_out_of_reach(world: World) -> None:
    world.receive(COMMAND)
    world.turn()
    cluster: Any = Moved(world)
    found = take_look(cluster, world.journal.stages(), after(2000), lambda: None)
    assert [job.job_id for job in found.queue] == ["7"] and cluster.asked == [["proj_a"], ["theirs"]]
    asked = Closing(command(2, Cancel(UUID(int=5), "member_asked")))
    assert closing(world, cluster).run(asked, now=after(20))
    assert cluster.told == ["7"], "a cancel that found nothing would have been called done"
