"""The table of permissions, row by row and person by person (E7): what Beto decides is what happens.

Beto's truth is the simulator's: a member of the Project, who left it, a member of another Project, somebody
of the staff with a token of the issuer and no membership, and a service, whose token names no Party.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from central.execution.application.ports import Authority
from central.execution.domain.permission import PERMISSIONS, Permission, Subject
from tests.contract.memory_runs import Others
from tests.contract.run_world import CLOCK, IDENTITY, PROJECT, READY, World
from tests.simulators.beto.truth import PERMISSIONS as BETOS
from tests.simulators.beto.truth import Truth

WIRE = Path(__file__).parents[2] / "docs" / "wire.md"
PERSONS = ("member", "second", "leaver", "stranger", "staff", "service")
MAY = frozenset({"member", "second"})
ASKED = [row for row in PERMISSIONS if row.subject is Subject.ASKER]
CREATORS = [row for row in PERMISSIONS if row.subject is Subject.CREATOR]


class Beto(Others):
    """`Authorities` by Beto's truth; `lost` are permissions of single Parties that were taken away."""

    truth: Truth
    beto_project: str
    lost: set[tuple[UUID, Permission]]

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        known = str(party) in self.truth.verified(self.beto_project)
        allowed = project == PROJECT and known and (party, permission) not in self.lost
        return Authority(allowed, 1, CLOCK + timedelta(hours=1))


class Persons(World):
    """The world with persons Beto knows; each has the bearer of its name."""

    def __init__(self) -> None:
        super().__init__()
        truth = Truth()
        self.beto = Beto(PROJECT, {"slurm": [READY]}, IDENTITY)
        self.beto.truth, self.beto.lost = truth, set()
        self.beto.beto_project, _ = truth.new_project("p")
        elsewhere, _ = truth.new_project("q")
        parties = {name: truth.new_party()[0] for name in PERSONS if name != "service"}
        for name, project in (("member", 0), ("second", 0), ("leaver", 0), ("stranger", 1)):
            truth.add_member((self.beto.beto_project, elsewhere)[project], parties[name])
        self.party = {name: UUID(party) for name, party in parties.items()}
        self.others = self.beto
        self.persons = self.party  # a service has no Party: its token is refused at the door
        self.build()

    def leave(self, name: str) -> None:
        self.beto.truth.remove_member(self.beto.beto_project, str(self.party[name]))

    def act(self, permission: Permission, run: str, who: str) -> tuple[int, Any]:
        """What a permission lets its holder do."""
        bearer = f"Bearer {who}"
        if permission is Permission.CREATE:
            return self.create(number=50 + PERSONS.index(who), who=bearer)
        method, what = {
            Permission.VIEW: ("GET", ""),
            Permission.RESULTS: ("GET", "/results"),
            Permission.CANCEL: ("POST", "/cancel"),
            Permission.RETRY: ("POST", "/retry"),
            Permission.CLEANUP: ("POST", "/cleanup"),
        }[permission]
        return self.ask(method, run, what, key=80 + PERSONS.index(who), who=bearer)

    def prepared(self, permission: Permission, creator: str = "member") -> str:
        """A Run of `creator` on which the permission is of use."""
        status, run = self.create(who=f"Bearer {creator}")
        assert status == 201, run
        if permission in (Permission.RETRY, Permission.CLEANUP):
            self.do(verdict="failed")
            if permission is Permission.RETRY:
                self.do()
            else:
                self.do(accepted=False, code="scratch_unavailable")
        return str(run["runId"])


@pytest.fixture
def world() -> Persons:
    return Persons()


def expected(who: str) -> tuple[set[int], str | None]:
    if who in MAY:
        return {200, 201, 202}, None
    return ({401}, "unauthenticated") if who == "service" else ({403}, "forbidden")


@pytest.mark.parametrize("who", PERSONS)
@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.permission.value)
def test_e7_who_asks_needs_the_permission_itself(row: Any, who: str, world: Persons) -> None:
    run = world.prepared(row.permission)
    world.leave("leaver")
    world.beto.uses.clear()
    before = dict(world.runs.runs)
    status, answer = world.act(row.permission, run, who)
    statuses, code = expected(who)
    assert (status in statuses, answer.get("code")) == (True, code), answer
    used = {(permission, actor) for _, permission, actor in world.beto.uses}
    if who in MAY:
        assert used == {(row.permission, world.party[who])}, "the use is kept with its actor"
    else:
        assert (used, world.runs.runs) == (set(), before)


@pytest.mark.parametrize("who", ["member", "second"])
@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.permission.value)
def test_e7_each_permission_is_asked_by_its_own_name(row: Any, who: str, world: Persons) -> None:
    run = world.prepared(row.permission)
    world.beto.lost |= {(world.party[who], each) for each in Permission if each is not row.permission}
    assert world.act(row.permission, run, who)[0] in (200, 201, 202)
    world.beto.lost = {(world.party[who], row.permission)}
    status, problem = world.act(row.permission, run, who)
    assert (status, problem["code"]) == (403, "forbidden"), "also for what was done under it before"
    assert row.permission.value in problem["detail"]


def stage_of(permission: Permission) -> int:
    """Which stage needs it: the first, or stage-out."""
    return 2 if permission is Permission.STAGE_OUT else 0


@pytest.mark.parametrize("row", CREATORS, ids=lambda row: row.permission.value)
def test_e7_a_stage_needs_the_creators_permission_whoever_else_is_there(row: Any, world: Persons) -> None:
    world.prepared(row.permission)
    for _ in range(stage_of(row.permission)):
        world.do()
    command = world.listed()[-1]
    ask = (command["commandId"], command["attemptId"])
    world.beto.lost = {(world.party["member"], row.permission)}
    status, problem = world.say("member-token-request", *ask)
    assert (status, problem["code"]) == (403, "authority_refused")
    assert row.permission.value in problem["detail"]
    world.beto.lost = {(world.party["second"], row.permission)}
    world.beto.uses.clear()
    assert world.say("member-token-request", *ask)[0] == 200
    assert (row.permission, world.party["member"]) in {(p, actor) for _, p, actor in world.beto.uses}


@pytest.mark.parametrize("row", CREATORS, ids=lambda row: row.permission.value)
def test_e7_a_leavers_next_stage_is_refused_and_what_runs_runs_on(row: Any, world: Persons) -> None:
    run = world.prepared(row.permission, "leaver")
    for _ in range(stage_of(row.permission)):
        world.do()
    command = world.listed()[-1]
    world.leave("leaver")
    status, problem = world.say("member-token-request", command["commandId"], command["attemptId"])
    assert (status, problem["code"]) == (403, "authority_refused")
    assert world.ask("GET", run, who="Bearer leaver")[1]["code"] == "forbidden"
    assert world.say("command-ack", command["commandId"], command["attemptId"])[0] == 200
    assert world.ask("POST", run, "/cancel", who="Bearer second")[0] == 202


def test_e7_the_table_is_whole_and_in_one_place() -> None:
    assert [row.permission for row in PERMISSIONS] == list(Permission)
    assert {each.value for each in Permission} == {each for each in BETOS if not each.startswith("project.")}
    printed = re.findall(r"^\| `([a-z_.]+)` \| (asker|creator) \| (.+) \|$", WIRE.read_text(), re.M)
    assert printed == [(row.permission.value, row.subject.value, row.act) for row in PERMISSIONS]
