"""Which account a member has: one value, proven absence or a doubt, never two of them (P30, X1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from msgspec import structs

from central.kernel.errors import CorruptState, Unavailable
from central.kernel.site_names import Site
from central.processes.ssh_accounts import ReportedAccounts
from central.provisioning.application.account_ports import AllocationEvidence
from central.provisioning.application.find_member_account import FindMemberAccount
from central.provisioning.domain.account import AccountState
from central.provisioning.domain.allocation import Lifecycle, Saved
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.member_account import Doubt, HeldName, MemberAccount, NoMemberAccount
from central.ssh_access.domain.account import Absence, AccountUnavailable, NoAccount
from central.ssh_access.domain.member_key import MemberId, Target
from tests.unit.central.provisioning.values import (
    ACCOUNT,
    BINDING,
    ENTRY,
    LIMIT,
    NOW,
    ONE,
    PARTY,
    SLURM,
    TWO,
    allocation,
)

FOUND = MemberAccount("u1", 5000001, ENTRY)


@dataclass(slots=True)
class World:
    """Every port as a table; an exception in a table is raised."""

    saved: list[Saved] = field(default_factory=lambda: [allocation(1, ONE)])
    name: HeldName | Exception | None = field(default_factory=lambda: HeldName(PARTY, BINDING, "u1", True))
    generations: dict[UUID, int | Exception] = field(default_factory=lambda: {ONE: 3})
    view: Exception | None = None
    sets: dict[int, PartyAccounts] = field(default_factory=lambda: {1: PartyAccounts(NOW, [ACCOUNT])})

    def name_at(self, site: Site, party: UUID, now: datetime) -> HeldName | None:
        assert (site, party, now) == (SLURM, PARTY, NOW)
        if isinstance(self.name, Exception):
            raise self.name
        return self.name

    def generation(self, project: UUID, site: Site, party: UUID, now: datetime) -> int | None:
        found = self.generations.get(project)
        if isinstance(found, Exception):
            raise found
        return found

    def projects(self, party: UUID, now: datetime) -> Collection[UUID]:
        if isinstance(self.view, Exception):
            raise self.view
        return set(self.generations)

    def of_projects(
        self, site: Site, projects: Collection[UUID], party: UUID
    ) -> Sequence[AllocationEvidence]:
        assert projects
        return [
            AllocationEvidence(one, self.sets.get(one.allocation.allocation_id.int))
            for one in self.saved
            if one.allocation.site == site and one.allocation.facts.project_id in projects
        ]

    def at_site(self, site: Site, party: UUID) -> Sequence[PartyAccounts | None]:
        return [
            self.sets.get(one.allocation.allocation_id.int)
            for one in self.saved
            if one.allocation.site == site
        ]

    @property
    def find(self) -> FindMemberAccount:
        return FindMemberAccount(self, self, LIMIT)

    def answer(self) -> object:
        return self.find(SLURM, PARTY, NOW)


@pytest.fixture
def world() -> World:
    return World()


def doubted(answer: object) -> str:
    assert isinstance(answer, Doubt), answer
    return answer.reason


def test_p30_the_reported_account(world: World) -> None:
    assert world.answer() == FOUND


def test_p30_only_usable_fresh_allocations_make_eligible(world: World) -> None:
    for lifecycle in Lifecycle:
        world.saved = [allocation(1, ONE, lifecycle)]
        usable = lifecycle in (Lifecycle.READY, Lifecycle.CHANGING)
        assert world.answer() == (FOUND if usable else NoMemberAccount.NOT_ELIGIBLE), lifecycle
    world.saved = [allocation(1, ONE, site=Site("k8s"))]
    assert world.answer() is NoMemberAccount.NOT_ELIGIBLE
    world.saved = [allocation(1, None)]
    assert world.answer() is NoMemberAccount.NOT_ELIGIBLE
    world.saved = [allocation(1, TWO)]
    assert world.answer() is NoMemberAccount.NOT_ELIGIBLE


@pytest.mark.parametrize(
    ("age", "known"),
    [
        (timedelta(minutes=15) - timedelta(microseconds=1), True),
        (timedelta(minutes=15), False),
        (timedelta(seconds=-5), True),
        (timedelta(seconds=-5, microseconds=-1), False),
    ],
)
def test_p30_a_stale_allocation_proves_nothing(world: World, age: timedelta, known: bool) -> None:
    world.saved = [structs.replace(allocation(1, ONE), last_seen=NOW - age)]
    if known:
        assert world.answer() == FOUND
    else:
        assert "not seen lately" in doubted(world.answer())


def test_p30_only_allocations_of_the_persons_projects_count(world: World) -> None:
    world.saved = [*(allocation(n, TWO) for n in range(2, 6)), allocation(6, ONE)]
    world.sets = {6: PartyAccounts(NOW, [ACCOUNT])}
    assert world.answer() == FOUND


def test_x1_a_view_that_does_not_answer_is_a_doubt(world: World) -> None:
    world.view = Unavailable("unavailable", "the projects are stale")
    assert doubted(world.answer()) == "the projects are stale"


def test_p30_a_name_that_is_not_held(world: World) -> None:
    world.name = None
    assert world.answer() is NoMemberAccount.ACCOUNT_ABSENT
    world.name = HeldName(PARTY, BINDING, "u1", False)
    assert world.answer() is NoMemberAccount.NOT_ELIGIBLE


def test_p30_complete_sets_prove_absence(world: World) -> None:
    other = replace(ACCOUNT, binding_id=UUID(int=9))
    for accounts in ([], [other]):
        world.sets = {1: PartyAccounts(NOW, accounts)}
        assert world.answer() is NoMemberAccount.ACCOUNT_ABSENT
    world.saved.append(allocation(2, ONE))
    assert "not reported lately" in doubted(world.answer())
    world.sets[2] = PartyAccounts(NOW, [ACCOUNT])
    assert world.answer() == FOUND


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "u2"}, "another username"),
        ({"uid_number": None}, "numeric UID"),
        ({"generation": 2}, "present membership"),
        ({"state": AccountState.INCOMPLETE}, "not finished"),
    ],
)
def test_p30_an_account_in_doubt_defers(world: World, changed: dict[str, object], why: str) -> None:
    world.sets = {1: PartyAccounts(NOW, [replace(ACCOUNT, **changed)])}  # type: ignore[arg-type]
    assert why in doubted(world.answer())


def test_p30_p23_a_member_of_two_projects_has_one_account_and_two_associations(world: World) -> None:
    """The reporter names each `<entryUUID>/<association id>`, and the associations differ."""
    world.saved.append(allocation(2, TWO))
    world.generations[TWO] = 7
    world.sets[2] = PartyAccounts(NOW, [replace(ACCOUNT, native_uid=f"{ENTRY}/77", generation=7)])
    assert world.answer() == FOUND


@pytest.mark.parametrize(
    "changed",
    [
        {"uid_number": 5000002}, {"native_uid": "another"}, {"native_uid": f"{UUID(int=9)}/42"},
        {"native_uid": f"{ENTRY}0/42"},
    ],
)  # fmt: skip
def test_p30_reports_in_conflict_defer(world: World, changed: dict[str, object]) -> None:
    world.saved.append(allocation(2, ONE))
    world.sets[2] = PartyAccounts(NOW, [replace(ACCOUNT, **changed)])  # type: ignore[arg-type]
    assert "several accounts" in doubted(world.answer())


def test_p30_a_stale_set_defers(world: World) -> None:
    world.sets = {1: PartyAccounts(NOW - LIMIT, [ACCOUNT])}
    assert "not reported lately" in doubted(world.answer())


def test_p30_an_undecided_membership_defers_unless_another_proves_the_account(world: World) -> None:
    world.saved.append(allocation(2, TWO))
    world.generations[TWO] = Unavailable("unavailable", "undecided")
    assert world.answer() == FOUND
    world.sets = {1: PartyAccounts(NOW, [])}
    assert doubted(world.answer()) == "undecided"
    world.saved = [allocation(2, TWO)]
    assert doubted(world.answer()) == "undecided"


def test_p30_a_former_members_account_is_found(world: World) -> None:
    world.generations = {}
    world.saved = [allocation(1, ONE, Lifecycle.SUSPENDED), allocation(2, TWO)]
    world.sets = {
        1: PartyAccounts(NOW, [replace(ACCOUNT, generation=1)]),
        2: PartyAccounts(NOW - LIMIT, []),
    }
    world.name = HeldName(PARTY, BINDING, "u1", False)
    assert world.find.of_former(SLURM, PARTY, NOW) == FOUND
    world.sets[1] = PartyAccounts(NOW, [])
    assert isinstance(world.find.of_former(SLURM, PARTY, NOW), Doubt)
    world.sets[2] = PartyAccounts(NOW, [])
    assert world.find.of_former(SLURM, PARTY, NOW) is NoMemberAccount.ACCOUNT_ABSENT


def test_p30_the_ports_three_outcomes(world: World) -> None:
    port = ReportedAccounts(world.find, ("slurm",))

    def asked(subject: str = str(PARTY), site: str = "slurm") -> object:
        return port.account_for(MemberId(subject), Site(site), NOW)

    assert asked() == Target("u1", 5000001, UUID(ENTRY))
    assert asked(site="k8s") == NoAccount(Absence.SITE_UNKNOWN)
    assert isinstance(asked(subject="alice"), AccountUnavailable)
    world.sets = {1: PartyAccounts(NOW, [replace(ACCOUNT, native_uid="no uuid/42")])}
    assert isinstance(asked(), AccountUnavailable)
    for waiting in ({}, {1: PartyAccounts(NOW, [replace(ACCOUNT, generation=2)])}):
        world.sets = waiting
        answer = asked()
        assert isinstance(answer, AccountUnavailable)
        assert answer.awaits_site, "not reported yet, or not of the present membership"
    world.sets = {1: PartyAccounts(NOW, [replace(ACCOUNT, name="u2")])}
    answer = asked()
    assert isinstance(answer, AccountUnavailable)
    assert not answer.awaits_site, "no report to come is known to mend a conflict"
    world.sets = {1: PartyAccounts(NOW, [])}
    assert asked() == NoAccount(Absence.ACCOUNT_ABSENT)
    world.generations = {}
    assert asked() == NoAccount(Absence.NOT_ELIGIBLE)
    for error in (Unavailable("unavailable", "the view is not loaded"), CorruptState("at odds")):
        world.name = error
        assert isinstance(asked(), AccountUnavailable)
