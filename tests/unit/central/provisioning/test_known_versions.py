"""A version known by its digest is decoded once, and another digest is never answered with it (P7)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from msgspec.structs import replace

from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.provisioning.adapters.snapshots import Known, KnownVersions, encode_snapshot, version_digest
from central.provisioning.domain.allocation import Allocation, Facts, Lifecycle
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef, ProviderState

BROKEN = "{}"


def _allocation(number: int) -> Allocation:
    return Allocation(
        allocation_id=AllocationId(UUID(int=number)),
        site=Site("slurm"),
        instance=WaldurInstance("https://waldur.example.org/"),
        resource_id=UUID(int=number),
        offering_id=UUID(int=1),
        facts=Facts(UUID(int=2), ProviderProjectRef("p"), "p-alloc", ProviderState.OK, False, None, None),
        lifecycle=Lifecycle.READY,
        reasons=(),
        used=None,
        revision=1,
        observed_at=datetime(2026, 11, 30, tzinfo=UTC),
    )


def _digest(allocation: Allocation, version: int) -> bytes:
    return version_digest(allocation.allocation_id, version, encode_snapshot(allocation))


def test_p7_what_was_learned_is_not_decoded_again() -> None:
    known, one = KnownVersions(), _allocation(7)
    known.learn(_digest(one, 1), 1, one)
    assert known.allocation(_digest(one, 1), one.allocation_id, 1, BROKEN) is one


def test_p7_another_version_is_decoded_and_known_instead() -> None:
    known, one = KnownVersions(), _allocation(7)
    later = replace(one, revision=2)
    known.learn(_digest(one, 1), 1, one)
    found = known.allocation(_digest(later, 2), one.allocation_id, 2, encode_snapshot(later).decode())
    assert found == later
    assert known.allocation(_digest(later, 2), one.allocation_id, 2, BROKEN) is found
    with pytest.raises(CorruptState):
        known.allocation(_digest(one, 1), one.allocation_id, 1, BROKEN)


def test_p7_a_snapshot_that_cannot_be_read_is_never_remembered() -> None:
    known, one = KnownVersions(), _allocation(7)
    for _ in range(2):
        with pytest.raises(CorruptState):
            known.allocation(_digest(one, 1), one.allocation_id, 1, BROKEN)


def test_p7_what_is_known_has_the_version_of_its_digest() -> None:
    known, one = KnownVersions(), _allocation(7)
    assert known.of(one.allocation_id) is None
    known.learn(_digest(one, 3), 3, one)
    assert known.of(one.allocation_id) == Known(_digest(one, 3), 3, one)
    known.forget()
    assert known.of(one.allocation_id) is None


def test_it_forgets_rather_than_grow() -> None:
    known = KnownVersions(remembered=2)
    for number in (1, 2, 3):
        known.learn(_digest(_allocation(number), 1), 1, _allocation(number))
    with pytest.raises(CorruptState):
        known.allocation(_digest(_allocation(1), 1), AllocationId(UUID(int=1)), 1, BROKEN)
    third = _allocation(3)
    assert known.allocation(_digest(third, 1), third.allocation_id, 1, BROKEN) == third
