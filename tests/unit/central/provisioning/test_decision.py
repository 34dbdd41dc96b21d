"""The decision, one rule a test (P1, P3–P6, P12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from central.kernel.site_names import Site
from central.provisioning.domain.allocation import Facts, Lifecycle, Reason, Saved, lifecycle_of
from central.provisioning.domain.amounts import AMOUNT_MAX, AmountRefused, Amounts, by_component
from central.provisioning.domain.decision import Decision, Outcome, RefusalCode, decide
from central.provisioning.domain.ids import (
    WaldurInstance,
    allocation_id,
    canonical_uuid,
    command_ids,
    content_digest,
)
from central.provisioning.domain.observation import Content, Observation, ProviderProjectRef, ProviderState

INSTANCE = WaldurInstance("https://waldur.example.org/")
PROJECT = UUID(int=302)
T0 = datetime(2026, 11, 2, 10, 0, 0, tzinfo=UTC)
SMALL, LARGE = Amounts.of({"cpu": 1000}), Amounts.of({"cpu": 2000})
READY = Observation(
    site=Site("slurm"),
    resource_id=UUID(int=305),
    offering_id=UUID(int=306),
    provider_project_ref=ProviderProjectRef("p"),
    native_name="p1",
    state=ProviderState.OK,
    paused=False,
    configured=SMALL,
    applied=SMALL,
    used=None,
    observed_at=T0,
    content=Content("a" * 32),
)


def seconds(n: float) -> timedelta:
    return timedelta(seconds=n)


def observed(after: float = 0, **changes: object) -> Observation:
    """READY, `after` seconds later, with changes and the content that follows from them."""
    content = Content(content_digest(repr(sorted(changes.items(), key=str)).encode()))
    made = replace(READY, observed_at=T0 + seconds(after), content=content)
    return replace(made, **changes)


def decided(saved: Saved | None, observation: Observation, project: UUID | None = PROJECT) -> Decision:
    return decide(saved, observation, T0 + seconds(60), instance=INSTANCE, project_id=project)


def after(*observations: Observation, project: UUID | None = PROJECT) -> Saved:
    """What stands after these."""
    saved: Saved | None = None
    for observation in observations:
        decision = decided(saved, observation, project)
        if decision.allocation is not None:
            version = saved.version + 1 if saved else 1
            saved = Saved(decision.allocation, version, observation.content, observation.observed_at)
        elif decision.outcome is Outcome.SEEN and saved is not None:
            saved = replace(saved, last_seen=observation.observed_at, content=observation.content)
    assert saved is not None
    return saved


@pytest.mark.parametrize(
    ("changes", "project", "lifecycle", "reasons"),
    [
        ({}, PROJECT, Lifecycle.READY, ()),
        ({}, None, Lifecycle.PENDING, (Reason.PROJECT_UNBOUND,)),
        ({"state": ProviderState.UPDATING}, PROJECT, Lifecycle.READY, ()),
        ({"state": ProviderState.CREATING}, PROJECT, Lifecycle.PENDING, (Reason.PROVISIONING,)),
        ({"state": ProviderState.TERMINATING}, PROJECT, Lifecycle.PENDING, (Reason.PROVISIONING,)),
        ({"state": ProviderState.ERRED}, PROJECT, Lifecycle.PENDING, (Reason.PROVIDER_ERRED,)),
        ({"applied": None}, PROJECT, Lifecycle.PENDING, (Reason.LIMITS_NOT_APPLIED,)),
        ({"applied": Amounts.of({})}, PROJECT, Lifecycle.PENDING, (Reason.LIMITS_NOT_APPLIED,)),
        ({"configured": None, "applied": None}, PROJECT, Lifecycle.PENDING, (Reason.LIMITS_NOT_APPLIED,)),
        ({"configured": LARGE}, PROJECT, Lifecycle.CHANGING, (Reason.LIMITS_NOT_APPLIED,)),
        ({"configured": Amounts.of({})}, PROJECT, Lifecycle.CHANGING, (Reason.LIMITS_NOT_APPLIED,)),
        ({"paused": True}, PROJECT, Lifecycle.SUSPENDED, ()),
        ({"paused": True, "configured": LARGE}, PROJECT, Lifecycle.SUSPENDED, ()),
        ({"paused": True}, None, Lifecycle.PENDING, (Reason.PROJECT_UNBOUND,)),
        ({"state": ProviderState.TERMINATED}, None, Lifecycle.RETIRED, ()),
        (
            {"state": ProviderState.CREATING, "applied": None},
            None,
            Lifecycle.PENDING,
            (Reason.PROJECT_UNBOUND, Reason.PROVISIONING, Reason.LIMITS_NOT_APPLIED),
        ),
        (
            {"state": ProviderState.ERRED, "configured": LARGE},
            None,
            Lifecycle.PENDING,
            (Reason.PROJECT_UNBOUND, Reason.PROVIDER_ERRED, Reason.LIMITS_NOT_APPLIED),
        ),
    ],
)
def test_lifecycle_and_every_reason_p4(
    changes: dict[str, Any], project: UUID | None, lifecycle: Lifecycle, reasons: tuple[Reason, ...]
) -> None:
    first = after(observed(**changes), project=project).allocation
    assert (first.lifecycle, first.reasons) == (lifecycle, reasons)


def test_changing_keeps_the_earlier_applied_limits_p4() -> None:
    saved = after(observed(), observed(1, configured=LARGE, applied=None))
    assert (saved.allocation.lifecycle, saved.allocation.facts.applied) == (Lifecycle.CHANGING, SMALL)
    saved = after(
        observed(), observed(1, configured=LARGE, applied=None), observed(2, configured=LARGE, applied=LARGE)
    )
    assert (saved.allocation.lifecycle, saved.allocation.revision) == (Lifecycle.READY, 3)


def test_what_is_not_known_is_never_nothing_x1() -> None:
    saved = after(observed(), observed(1, configured=None, applied=None, native_name=None))
    assert (saved.version, saved.allocation.facts.configured, saved.allocation.facts.applied) == (
        1,
        SMALL,
        SMALL,
    )
    assert saved.allocation.facts.native_name == "p1"
    saved = after(observed(), observed(1, configured=Amounts.of({}), applied=Amounts.of({})))
    assert (saved.allocation.revision, saved.allocation.facts.applied) == (2, Amounts.of({}))


def test_a_terminated_resource_has_no_limits_in_force() -> None:
    saved = after(observed(), observed(1, state=ProviderState.TERMINATED, applied=None))
    assert (saved.allocation.lifecycle, saved.allocation.facts.applied) == (Lifecycle.RETIRED, None)
    assert decided(saved, observed(2)).outcome is Outcome.UNCHANGED
    assert decided(saved, observed(2, state=ProviderState.ERRED)).allocation is None


def test_usage_is_not_material_p6() -> None:
    saved = after(observed(), observed(1, used=SMALL))
    assert (saved.version, saved.allocation.revision) == (2, 1)
    assert decided(saved, observed(2, used=SMALL)).outcome is Outcome.SEEN
    assert decided(saved, observed(2)).outcome is Outcome.CHANGED
    assert after(observed(), observed(1, used=SMALL), observed(2)).allocation.used is None


def test_a_binding_once_proven_is_kept_p3() -> None:
    saved = after(observed())
    assert decided(saved, observed(1), project=None).outcome is Outcome.SEEN
    later = decided(saved, observed(1, paused=True), project=UUID(int=999)).allocation
    assert later is not None
    assert later.facts.project_id == PROJECT


def test_a_binding_proven_late_is_a_material_change_p3() -> None:
    saved = after(observed(), project=None)
    assert saved.allocation.waits_for_project
    assert decided(saved, observed(1), project=None).outcome is Outcome.SEEN
    bound = decided(saved, observed(1)).allocation
    assert bound is not None
    assert (bound.revision, bound.lifecycle, bound.facts.project_id) == (2, Lifecycle.READY, PROJECT)
    assert decided(saved, observed(0)).outcome is Outcome.UNCHANGED


def test_times_p5() -> None:
    saved = after(observed(1), observed(3))
    assert saved.version == 1
    assert decided(saved, observed(2)).outcome is Outcome.STALE_REPORT
    assert decided(saved, observed(2, paused=True)).outcome is Outcome.STALE_REPORT
    assert decided(saved, observed(3)).outcome is Outcome.UNCHANGED
    assert decided(saved, observed(3, paused=True)).outcome is Outcome.CONFLICTING_REPORT
    assert decided(saved, observed(3.000001)).outcome is Outcome.SEEN


@pytest.mark.parametrize(("ahead", "taken"), [(5, True), (5.000001, False), (3600, False)])
def test_five_seconds_ahead_is_the_limit_e13(ahead: float, taken: bool) -> None:
    decision = decided(None, observed(60 + ahead))
    assert decision.outcome is (Outcome.CHANGED if taken else Outcome.REFUSED)
    assert decision.code is (None if taken else RefusalCode.OBSERVED_IN_FUTURE)


def test_another_sites_resource_is_refused_p12() -> None:
    decision = decided(after(observed()), observed(1, site=Site("k8s")))
    assert (decision.outcome, decision.revision, decision.code) == (
        Outcome.REFUSED,
        None,
        RefusalCode.OTHER_SITE,
    )


def test_bindings_that_moved_are_refused() -> None:
    bound, waiting = after(observed()), after(observed(), project=None)
    other_ref = observed(1, provider_project_ref=ProviderProjectRef("q"))
    assert decided(bound, observed(1, offering_id=UUID(int=1))).code is RefusalCode.BINDING_CHANGED
    assert decided(waiting, observed(1, offering_id=UUID(int=1))).code is RefusalCode.BINDING_CHANGED
    assert decided(bound, other_ref).code is RefusalCode.BINDING_CHANGED
    moved = decided(waiting, other_ref).allocation
    assert moved is not None
    assert (moved.facts.provider_project_ref, moved.revision) == ("q", 2)


def test_the_same_observation_again_never_changes_anything() -> None:
    """Whatever stood before: deciding twice is deciding once, so equal content may be renewed unseen."""
    states = list(ProviderState)
    amounts = [None, SMALL, LARGE, Amounts.of({})]
    for state in states:
        for configured in amounts:
            for applied in amounts:
                changes = {"state": state, "configured": configured, "applied": applied, "native_name": None}
                once = after(observed(), observed(1, **changes))
                again = decided(once, observed(2, **changes))
                assert again.outcome in {Outcome.SEEN, Outcome.UNCHANGED}


def test_ids_are_the_same_everywhere_p1() -> None:
    first = allocation_id(INSTANCE, UUID("00000000-0000-4000-8000-000000000305"))
    assert str(first) == "5ff2f9fe-df0b-50a3-9410-35a7cf0cff21"
    assert command_ids(UUID(int=1), [str(UUID(int=2))]) == ["a2ace0db29e758ffaeeb47897fa1d63e"]
    assert first == allocation_id(INSTANCE, UUID("{00000000-0000-4000-8000-000000000305}"))
    assert first != allocation_id(WaldurInstance("https://other.example.org/"), READY.resource_id)
    assert command_ids(UUID(int=1), [str(first)]) != command_ids(UUID(int=2), [str(first)])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("00000000-0000-4000-8000-00000000030A", "00000000-0000-4000-8000-00000000030a"),
        ("0000000000004000800000000000030a", None),
        ("urn:uuid:00000000-0000-4000-8000-00000000030a", None),
        ("00000000-0000-4000-8000-00000000030a\n", None),
        ("", None),
    ],
)
def test_uuids_have_one_form(text: str, canonical: str | None) -> None:
    assert canonical_uuid(text) == canonical


@pytest.mark.parametrize(
    ("component", "amount"),
    [
        ("node", 1), ("cpu ", 1), ("CPU", 1), ("gpu", 1), ("gpu.", 1), ("gpu.a b", 1), ("gpu.x\n", 1),
        ("cpu", -1),
        ("cpu", AMOUNT_MAX + 1), ("cpu", True), ("gpu." + "x" * 64, 1),
    ],
)  # fmt: skip
def test_amounts_that_are_refused_x3(component: str, amount: int) -> None:
    with pytest.raises(AmountRefused) as refused:
        Amounts.of({component: amount})
    assert refused.value.component == component


def test_amounts_compare_whatever_their_order_x3() -> None:
    first = Amounts.of({"memory": AMOUNT_MAX, "cpu": 0, "gpu.GH200-96": 1})
    assert first == Amounts.of({"gpu.GH200-96": 1, "cpu": 0, "memory": AMOUNT_MAX})
    assert list(by_component(first) or ()) == ["cpu", "gpu.GH200-96", "memory"]


def test_lifecycle_follows_from_facts_alone() -> None:
    facts = Facts(PROJECT, ProviderProjectRef("p"), None, ProviderState.OK, False, SMALL, SMALL)
    assert lifecycle_of(facts) == (Lifecycle.READY, ())
