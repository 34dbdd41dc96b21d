"""The worker's passes where nobody answers for long, and after a retry (E1, S2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from central.execution.application.git_passes import ConfirmOutputs, RevokeCredentials
from central.execution.application.host_turns import HostTurns
from central.execution.application.passes import ReconsiderRuns
from central.execution.application.ports import (
    AccountAwaits,
    Authority,
    RepositoryCredential,
    RepositoryRefused,
)
from central.execution.application.worker_ports import GivenCredential
from central.execution.domain.attempts import retry
from central.execution.domain.command import Cancel, credential_id
from central.execution.domain.maintenance import Statement
from central.execution.domain.permission import Permission
from central.execution.domain.progress import acknowledge, record_result
from central.execution.domain.run import Output, Run, RunState, WaitReason
from central.kernel.errors import Unavailable
from tests.contract.memory_runs import MemoryRuns
from tests.unit.central.execution.hosts import SILENT, MemorySilences
from tests.unit.central.execution.settled import cleaned, failed, through
from tests.unit.central.execution.values import NOW, OTHER, accepted, ended, new_run

PATIENCE = timedelta(days=2)
SILENCE = Unavailable("unavailable", "nobody answers")


@dataclass
class World:
    """What a worker meets, as a test wants it: `no_*` is raised where it is set."""

    runs: MemoryRuns = field(default_factory=MemoryRuns)
    no_credential: Exception | None = None
    no_git: Exception | None = None
    no_account: Exception | None = None
    given: list[GivenCredential] = field(default_factory=list)
    revoked: list[UUID] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    silences: MemorySilences = field(default_factory=MemorySilences)

    def keep(self, run: Run) -> Run:
        self.runs.runs[run.run_id] = run
        return run

    def now(self, run: Run) -> Run:
        return self.runs.runs[run.run_id]

    def live(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        return [each for each in self.runs.runs if after is None]

    def past_deadline(self, now: datetime, limit: int) -> Sequence[UUID]:
        return []

    def awaiting_output(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        awaited = sorted(each.run_id for each in self.runs.runs.values() if each.output_awaited is not None)
        return [each for each in awaited if after is None or each > after][:limit]

    def unpublished(self, limit: int) -> Sequence[tuple[UUID, int]]:
        return []

    def published(self, revisions: Sequence[tuple[UUID, int]]) -> None: ...

    def issue(self, run: Run, purpose: str, *, write_ref: str | None, now: datetime) -> RepositoryCredential:
        if self.no_credential is not None:
            raise self.no_credential
        return RepositoryCredential("u", "p", now)

    def commit_of(self, url: str, ref: str, credential: RepositoryCredential) -> str | None:
        self.asked.append(url)
        if self.no_git is not None or url in self.silent:
            raise self.no_git or SILENT
        return "b" * 40

    def of(self, site: str) -> Statement | None:
        return None

    def state(self, site: str, statement: Statement, now: datetime) -> bool:
        return False

    def suspended(self, run: Run, now: datetime) -> bool:
        return False

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        return Authority(True, 1, NOW)

    def confirmed_at(self, run: Run, now: datetime) -> datetime:
        if self.no_account is not None:
            raise self.no_account
        return now

    def for_new_work(self, holder: object, resource: object, now: datetime) -> None: ...

    def stands(self, party: UUID) -> bool:
        return True

    def outstanding(self, after: UUID | None, limit: int) -> Sequence[GivenCredential]:
        return self.given if after is None else []

    def revoke(self, credential_id: UUID, now: datetime) -> None:
        self.revoked.append(credential_id)

    def confirming(self) -> ConfirmOutputs:
        return ConfirmOutputs(self, self.runs, self, self, PATIENCE, HostTurns(self.silences))

    def confirm(self, now: datetime) -> None:
        self.confirming()(now)

    def reconsider(self, now: datetime) -> None:
        ReconsiderRuns(self, self.runs, self, self, self, self, self, PATIENCE)(now)


@pytest.fixture
def world() -> World:
    return World()


def pushed() -> Run:
    """At its stage-out, which says that it pushed."""
    step = through(through(new_run()))
    [command] = step.commands
    run = acknowledge(step.run, command.command_id, accepted(), NOW).run
    return record_result(run, command.command_id, ended(output=Output("r", "b" * 40)), NOW).run


@pytest.mark.parametrize(
    ("silence", "reason"),
    [
        ({"no_git": SILENCE}, "output_awaiting_git"),
        ({"no_credential": SILENCE}, "output_awaiting_git"),
        ({"no_credential": RepositoryRefused(WaitReason.REPOSITORY_UNKNOWN)}, "repository_unknown"),
    ],
    ids=["git", "credentials", "unknown"],
)
def test_s2_an_output_nobody_confirms_waits_says_so_and_fails_after_the_patience(
    silence: dict[str, Exception], reason: str, world: World
) -> None:
    run = world.keep(pushed())
    for name, error in silence.items():
        setattr(world, name, error)
    for later in (timedelta(0), PATIENCE - timedelta(seconds=1)):
        world.confirm(NOW + later)
        assert (world.now(run).state, world.now(run).reason) == (RunState.WAITING, reason)
    world.confirm(NOW + PATIENCE)
    assert (world.now(run).state, world.now(run).reason) == (RunState.FAILED, "output_unconfirmed_in_time")


def test_s2_an_output_that_is_confirmed_in_time_is_the_end(world: World) -> None:
    run = world.keep(pushed())
    world.no_git = SILENCE
    world.confirm(NOW)
    world.no_git = None
    world.confirm(NOW + timedelta(hours=1))
    assert (world.now(run).state, world.now(run).reason) == (RunState.COMPLETED, None)


def test_x1_s2_outputs_of_a_silent_host_stand_in_no_others_way(world: World) -> None:
    """A silent host is asked once; every Run on it says why it waits, and is asked for again in time."""
    silent = "https://silent.example.org/g/p.git"
    world.silent = {silent}
    one = pushed()
    repository = replace(one.request.repository, url=silent)
    waiting = [
        world.keep(replace(one, run_id=UUID(int=number), request=replace(one.request, repository=repository)))
        for number in range(150)
    ]
    last = world.keep(replace(one, run_id=UUID(int=2**128 - 1)))
    confirm = world.confirming()
    confirm(NOW)
    assert sorted(world.asked) == sorted([silent, one.request.repository.url])
    assert world.now(last).state is RunState.COMPLETED
    assert {world.now(each).reason for each in waiting} == {WaitReason.OUTPUT_AWAITING_GIT.value}
    world.asked.clear()
    confirm(NOW + timedelta(seconds=59))
    assert world.asked == [], "not while it was silent just now"
    world.silent = set()
    confirm(NOW + timedelta(minutes=2))
    confirm(NOW + timedelta(minutes=3))
    assert {world.now(each).state for each in waiting} == {RunState.COMPLETED}


def test_e1_an_account_nobody_confirms_ends_the_run_after_the_patience(world: World) -> None:
    run = world.keep(new_run().run)
    world.no_account = AccountAwaits("stale_report")
    world.reconsider(NOW)
    assert world.now(run).reason == "account_awaiting_site"
    world.reconsider(NOW + PATIENCE)
    assert world.now(run).state is RunState.CANCELLING
    [(_, listed)] = world.runs.feed
    assert isinstance(listed.action, Cancel)
    assert listed.action.reason == "account_unconfirmed_in_time"


def test_s2_a_credential_of_an_earlier_attempt_is_taken_back_while_the_next_has_its_own(world: World) -> None:
    first = new_run().run
    again = world.keep(retry(cleaned(failed(new_run())), OTHER, NOW).run)
    old, new = (
        GivenCredential(credential_id(run, "stage-in"), run.run_id, "stage-in") for run in (first, again)
    )
    world.given = [old, new, GivenCredential(uuid4(), uuid4(), "stage-in")]
    RevokeCredentials(world.runs, world, HostTurns(world.silences))(NOW)
    assert world.revoked == [old.credential_id]
