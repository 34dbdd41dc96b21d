"""The account new work runs as: one, none, or a reason to wait (P26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import pytest

from central.kernel.errors import CorruptState, Unavailable
from central.kernel.site_names import Site
from central.provisioning.application.ports import SnapshotPage
from central.provisioning.application.provisioning_accounts import (
    AccountAmbiguous,
    AccountAwaitingSite,
    ProvisioningAccounts,
    Selection,
)
from central.provisioning.domain.account import AccountState
from central.provisioning.domain.allocation import Lifecycle, Saved
from central.provisioning.domain.confirmation import PartyAccounts, Unconfirmed
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.member_account import HeldName
from tests.unit.central.provisioning.values import (
    ACCOUNT,
    BINDING,
    LIMIT,
    NOW,
    ONE,
    PARTY,
    SLURM,
    TWO,
    allocation,
)

K8S = Site("k8s")
FULL, EMPTY = PartyAccounts(NOW, [ACCOUNT]), PartyAccounts(NOW, [])
INCOMPLETE = replace(ACCOUNT, state=AccountState.INCOMPLETE)


@dataclass(slots=True)
class World:
    """Every port as a table; an exception in a table is raised."""

    saved: list[Saved] = field(default_factory=lambda: [allocation(1, ONE)])
    sets: dict[int, PartyAccounts | Exception] = field(default_factory=lambda: {1: FULL})
    generation_of: dict[Site, int] = field(default_factory=lambda: {SLURM: 3, K8S: 3})
    name: HeldName | Exception | None = field(default_factory=lambda: HeldName(PARTY, BINDING, "u1", True))

    def name_at(self, site: Site, party: UUID, now: datetime) -> HeldName | None:
        if isinstance(self.name, Exception):
            raise self.name
        return self.name

    def generation(self, project: UUID, site: Site, party: UUID, now: datetime) -> int | None:
        return self.generation_of.get(site)

    def by_id(self, allocation: AllocationId) -> Saved | None:
        return next((one for one in self.saved if one.allocation.allocation_id == allocation), None)

    def by_project(self, project_id: UUID) -> Sequence[Saved]:
        return [one for one in self.saved if one.allocation.facts.project_id == project_id]

    def page(self, after: AllocationId | None, limit: int) -> SnapshotPage:
        raise AssertionError("only what is selected is read")

    def of_party(self, allocation: AllocationId, site: Site, party: UUID) -> PartyAccounts | None:
        found = self.sets.get(allocation.int)
        if isinstance(found, Exception):
            raise found
        return found

    def chosen(self, site: Site | None = None, number: int | None = None) -> int | None:
        """The allocation whose account was chosen."""
        named = AllocationId(UUID(int=number)) if number is not None else None
        accounts = ProvisioningAccounts(self, self, self, LIMIT)
        answer = accounts.get(Selection(ONE, PARTY, site, named), NOW)
        if answer is None:
            return None
        assert answer.account.name == "u1"
        assert (answer.key.binding_id, answer.key.generation) == (BINDING, 3)
        return answer.key.allocation_id.int

    def awaits(self, site: Site | None = None) -> Unconfirmed:
        with pytest.raises(AccountAwaitingSite) as raised:
            self.chosen(site)
        assert raised.value.code == "account_awaiting_site"
        return raised.value.reason


@pytest.fixture
def world() -> World:
    return World()


def test_p26_the_one_account_by_any_selector(world: World) -> None:
    assert world.chosen() == world.chosen(SLURM) == world.chosen(number=1) == world.chosen(SLURM, 1) == 1


def test_p26_none(world: World) -> None:
    assert world.chosen(K8S) is world.chosen(number=9) is world.chosen(K8S, 1) is None
    world.generation_of = {}
    assert world.chosen() is None
    world.generation_of = {SLURM: 3}
    for name in (None, HeldName(PARTY, BINDING, "u1", False)):
        world.name = name
        assert world.chosen() is None
    world.name = HeldName(PARTY, BINDING, "u1", True)
    for saved in (allocation(1, ONE, Lifecycle.RETIRED), allocation(1, TWO)):
        world.saved = [saved]
        assert world.chosen() is world.chosen(number=1) is None


def test_p26_an_unfinished_account_elsewhere_blocks_no_selection(world: World) -> None:
    world.saved.append(allocation(2, ONE, site=K8S))
    world.sets[2] = PartyAccounts(NOW, [INCOMPLETE])
    assert world.chosen(SLURM) == 1
    assert world.awaits() is world.awaits(K8S) is Unconfirmed.INCOMPLETE
    world.sets[2] = CorruptState("at odds")
    assert world.chosen(SLURM) == 1
    with pytest.raises(Unavailable):
        world.chosen()


def test_p26_absence_is_of_its_allocation_only(world: World) -> None:
    world.saved.append(allocation(2, ONE))
    world.sets[2] = EMPTY
    assert world.chosen() == 1
    world.sets[1] = EMPTY
    assert world.awaits() is Unconfirmed.NOT_CONFIRMED
    del world.sets[2]
    assert world.awaits() is Unconfirmed.NOT_REPORTED
    world.sets[2] = PartyAccounts(NOW - LIMIT, [ACCOUNT])
    assert world.awaits() is Unconfirmed.STALE_REPORT


def test_p26_generations(world: World) -> None:
    older = replace(ACCOUNT, generation=2, native_uid="older")
    world.sets[1] = PartyAccounts(NOW, [older])
    assert world.awaits() is Unconfirmed.GENERATION_PENDING
    world.sets[1] = PartyAccounts(NOW, [older, ACCOUNT])
    assert world.chosen() == 1


@pytest.mark.parametrize("other", [BINDING, UUID(int=9)])
def test_p26_several_in_one_set_are_ambiguous(world: World, other: UUID) -> None:
    world.sets[1] = PartyAccounts(NOW, [ACCOUNT, replace(ACCOUNT, native_uid="second", binding_id=other)])
    with pytest.raises(AccountAmbiguous):
        world.chosen()


def test_p26_several_allocations_are_ambiguous_until_one_is_selected(world: World) -> None:
    world.saved.append(allocation(2, ONE))
    world.sets[2] = FULL
    with pytest.raises(AccountAmbiguous):
        world.chosen(SLURM)
    assert (world.chosen(number=1), world.chosen(number=2)) == (1, 2)


def test_p26_what_cannot_be_read_is_never_none(world: World) -> None:
    world.name = Unavailable("unavailable", "the view is not loaded")
    with pytest.raises(Unavailable, match="not loaded"):
        world.chosen()
