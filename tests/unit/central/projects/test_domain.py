"""The view's rules, as tables (P13–P18)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.projects.domain.authority import AuthorityState, Deferred
from central.projects.domain.ids import PartyId, ProjectId, Scope, comparable
from central.projects.domain.membership import Membership, advance
from central.projects.domain.merge import Held, merge
from central.projects.domain.project import BindingRef, Lifecycle
from central.projects.domain.resolution import Unresolved, resolve
from central.projects.domain.revisions import SKEW, Effect, Told, follow, judge
from central.projects.domain.roster import NoMember, ProjectDecision, SiteMember, decide, provision, settled
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, Standing, choose
from central.projects.domain.view import Phase, ScopeView, ViewLimits
from tests.unit.central.projects.values import (
    NOW,
    authority,
    binding_id,
    member,
    membership,
    party,
    project,
    ref,
    site_binding,
    uuid,
)

LIMITS = ViewLimits()
MICRO = timedelta(microseconds=1)


# Generations (P17, P18)


def after(*lists: dict[int, BindingRef]) -> dict[PartyId, Membership]:
    """The memberships after a Project listed each of these in turn."""
    known: dict[PartyId, Membership] = {}
    for listed in lists:
        known |= {m.party_id: m for m in advance(known, {party(n): b for n, b in listed.items()})}
    return known


@pytest.mark.parametrize(
    ("lists", "generation", "present"),
    [
        ([{1: ref(1)}], 1, True),
        ([{1: ref(1)}, {1: ref(1)}], 1, True),
        ([{1: ref(1)}, {}], 1, False),
        ([{1: ref(1)}, {}, {}], 1, False),
        ([{1: ref(1)}, {}, {1: ref(1)}], 2, True),
        ([{1: ref(1)}, {1: ref(2)}], 2, True),
        ([{1: ref(1)}, {1: ref(1, revision=2)}], 1, True),
        ([{1: ref(1)}, {}, {1: ref(2)}], 2, True),
        ([{1: ref(1)}, {}, {1: ref(1)}, {}, {1: ref(1)}], 3, True),
    ],
    ids=["first", "again", "left", "stays left", "returned", "replaced", "revised", "both", "twice"],
)
def test_generations(lists: list[dict[int, BindingRef]], generation: int, present: bool) -> None:
    found = after(*lists)[party(1)]
    assert (found.generation, found.present) == (generation, present)


def test_a_party_without_verified_binding_is_no_member() -> None:
    assert project(1, member(1), member(2, ref(2))).verified == {party(2): ref(2)}


listings = st.lists(
    st.dictionaries(st.integers(1, 4), st.builds(ref, st.integers(1, 3), st.integers(1, 2)), max_size=4),
    max_size=12,
)


@given(listings)
def test_a_generation_counts_arrivals_and_replacements_and_never_goes_back(
    lists: list[dict[int, BindingRef]],
) -> None:
    known: dict[PartyId, Membership] = {}
    counted: dict[int, int] = {}
    before: dict[int, BindingRef] = {}
    for listed in lists:
        changed = advance(known, {party(n): b for n, b in listed.items()})
        for new in changed:
            assert new.generation >= (known[new.party_id].generation if new.party_id in known else 1)
            assert new != known.get(new.party_id)
        known |= {m.party_id: m for m in changed}
        for number, binding in listed.items():
            if number not in before or before[number].binding_id != binding.binding_id:
                counted[number] = counted.get(number, 0) + 1
        before = listed
        assert {m.party_id for m in known.values() if m.present} == {party(n) for n in listed}
    assert {m.party_id: m.generation for m in known.values()} == {party(n): g for n, g in counted.items()}


# Revisions (P13)


@pytest.mark.parametrize(
    ("viewed", "told", "effect", "gap"),
    [
        (None, project(1), Effect.APPLIED, False),
        (None, project(3), Effect.APPLIED, True),
        (project(2), project(3), Effect.APPLIED, False),
        (project(2), project(4), Effect.APPLIED, True),
        (project(2), project(1), Effect.OLDER, False),
        (project(2), project(2), Effect.SAME, False),
        (project(2), project(2, member(1)), Effect.CONFLICT, False),
        (project(2), project(1, member(1)), Effect.OLDER, False),
    ],
)
def test_revisions_decide(viewed: Any, told: Any, effect: Effect, gap: bool) -> None:
    held = Told(viewed, NOW, by_message=True) if viewed else None
    found = judge(held, Told(told, NOW - timedelta(days=1), by_message=True))
    assert (found.effect, found.gap) == (effect, gap)


READY, PENDING, CLOSED = AuthorityState.READY, AuthorityState.PENDING, AuthorityState.CLOSED


@pytest.mark.parametrize(
    ("viewed", "by_message", "told", "later", "effect"),
    [
        (authority(7), True, authority(8, PENDING), -9, Effect.APPLIED),
        (authority(7), True, authority(6), 9, Effect.OLDER),
        (authority(7, management=2), True, authority(7, management=1), 9, Effect.OLDER),
        (authority(7, management=1), True, authority(7, PENDING, management=2), -9, Effect.APPLIED),
        (authority(7, PENDING), True, authority(7), 1, Effect.APPLIED),
        (authority(7), True, authority(7, PENDING), -1, Effect.OLDER),
        (authority(7), True, authority(7, seconds=90), 1, Effect.APPLIED),
        (authority(7), True, authority(7), 0, Effect.SAME),
        (authority(7), True, authority(7), -1, Effect.SAME),
        (authority(7), True, authority(7), 1, Effect.APPLIED),
        (authority(7), True, authority(7, PENDING), 0, Effect.CONFLICT),
        (authority(7), False, authority(7, PENDING), 6, Effect.APPLIED),
        (authority(7), False, authority(7, PENDING), -6, Effect.OLDER),
        (authority(7), False, authority(7, PENDING), 5, Effect.APPLIED),
        (authority(7), False, authority(7, PENDING), -5, Effect.APPLIED),
        (authority(7, PENDING), False, authority(7), 5, Effect.OLDER),
        (authority(7, PENDING), False, authority(7), 5.000001, Effect.APPLIED),
        (authority(7, PENDING), False, authority(7, CLOSED), 0, Effect.APPLIED),
        (authority(7, seconds=90), False, authority(7, seconds=60), 0, Effect.APPLIED),
        (authority(7, seconds=60), False, authority(7, seconds=90), 0, Effect.OLDER),
    ],
)
def test_authority_is_ordered_by_revision_generation_and_time(
    viewed: Any, by_message: bool, told: Any, later: float, effect: Effect
) -> None:
    held = Told(viewed, NOW, by_message=by_message)
    news = Told(told, NOW + timedelta(seconds=later), by_message=True)
    assert judge(held, news).effect is effect


# Snapshots (P14)


def held(value: Any, epoch: int) -> Held[Any]:
    return Held(Told(value, NOW, by_message=True), epoch)


def test_a_snapshot_replaces_all_but_what_was_told_since() -> None:
    mine = {
        uuid(1): held(project(1, number=1), 4),
        uuid(2): held(project(9, number=2), 4),
        uuid(3): held(project(9, number=3), 5),
        uuid(4): held(project(1, number=4), 4),
        uuid(5): held(project(1, number=5), 5),
        uuid(6): held(project(2, number=6), 5),
    }
    snapshot = [project(n, number=k) for k, n in ((1, 1), (2, 8), (3, 8), (6, 3), (7, 1))]
    merged = merge(snapshot, mine, 5, NOW)
    assert [(item.project_id, item.revision) for item in merged.put] == [
        (uuid(2), 8),
        (uuid(6), 3),
        (uuid(7), 1),
    ]
    assert merged.drop == [uuid(4)]
    assert merged.kept_newer == 2


def test_an_authority_told_about_the_time_of_its_snapshot_stays_if_it_allows_less() -> None:
    mine = {uuid(1): held(authority(7, PENDING), 5)}
    assert merge([authority(7)], mine, 5, NOW + SKEW).put == []
    assert merge([authority(7)], mine, 5, NOW + SKEW + MICRO).put == [authority(7)]
    assert merge([authority(7)], mine, 6, NOW).put == [authority(7)]


# The state of a scope (P14)


def scope(phase: Phase, **changes: object) -> ScopeView:
    checked = NOW if phase is Phase.CURRENT else None
    given = {"epoch": 3, "position": 41, "checked_at": checked, "held_until": None, "reason": None} | changes
    return ScopeView(Scope.PROJECTS, phase, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "begun", "diverged"),
    [
        (Phase.UNINITIALISED, Phase.LOADING, Phase.UNINITIALISED),
        (Phase.LOADING, Phase.LOADING, Phase.LOADING),
        (Phase.CURRENT, Phase.REPAIRING, Phase.DIVERGED),
        (Phase.DIVERGED, Phase.REPAIRING, Phase.DIVERGED),
        (Phase.REPAIRING, Phase.REPAIRING, Phase.REPAIRING),
    ],
)
def test_phases(phase: Phase, begun: Phase, diverged: Phase) -> None:
    view = scope(phase)
    started = view.begun(NOW, LIMITS)
    assert (started.phase, started.epoch) == (begun, 4)
    assert started.held(NOW)
    assert not started.held(NOW + timedelta(seconds=LIMITS.pass_seconds))
    assert view.diverged("why").phase is diverged
    matched = started.matched(42, NOW)
    assert (matched.phase, matched.position, matched.held(NOW)) == (Phase.CURRENT, 42, False)
    assert started.released("why").phase is begun
    assert view.went_back(40)
    assert not view.went_back(41)


@pytest.mark.parametrize("phase", list(Phase))
def test_p14_only_an_earlier_position_that_was_refused_is_accepted(phase: Phase) -> None:
    view = scope(phase)
    assert view.restored() is view, "nothing waits"
    accepted = view.refused(3).restored()
    assert (accepted.position, accepted.refused_position) == (0, None)
    assert accepted.phase is not Phase.CURRENT
    caught_up = view.refused(3).matched(42, NOW)
    assert caught_up.restored() is caught_up, "it was a replica that lagged"


@pytest.mark.parametrize("phase", list(Phase))
def test_only_a_current_and_recently_compared_scope_answers(phase: Phase) -> None:
    view = scope(phase, checked_at=NOW)
    assert (view.unusable(NOW, LIMITS) is None) == (phase is Phase.CURRENT)
    assert view.unusable(NOW + LIMITS.stale_after, LIMITS)
    if phase is Phase.CURRENT:
        assert view.unusable(NOW + LIMITS.stale_after - MICRO, LIMITS) is None


# Resolution (P3, P13)


def test_exactly_one_project_resolves() -> None:
    one, other = ProjectId(uuid(1)), ProjectId(uuid(2))
    assert resolve([one]) == one
    assert resolve([one, one]) == one
    assert resolve([one, other]) is Unresolved.AMBIGUOUS
    assert resolve([]) is Unresolved.UNBOUND


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0000000000004000800000000000ABCD", "00000000-0000-4000-8000-00000000abcd"),
        ("00000000-0000-4000-8000-00000000ABCD", "00000000-0000-4000-8000-00000000abcd"),
        ("00000000-000040008000-00000000ABCD", "00000000-000040008000-00000000ABCD"),
        ("project-A", "project-A"),
        ("0000000000004000800000000000abcd\n", "0000000000004000800000000000abcd\n"),
        ("{00000000-0000-4000-8000-00000000abcd}", "{00000000-0000-4000-8000-00000000abcd}"),
    ],
)
def test_uuids_are_compared_as_uuids_and_other_texts_as_they_are(text: str, form: str) -> None:
    assert comparable(text) == form


# Site bindings (P16)

ACTIVE, RETIRED = Standing.ACTIVE, Standing.RETIRED


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ([], NoBinding.ABSENT),
        ([site_binding(1, 1)], site_binding(1, 1)),
        ([site_binding(1, 1, RETIRED)], site_binding(1, 1, RETIRED)),
        ([site_binding(1, 1, RETIRED), site_binding(2, 2)], site_binding(2, 2)),
        ([site_binding(2, 2), site_binding(1, 1, RETIRED), site_binding(3, 3, RETIRED)], site_binding(2, 2)),
        ([site_binding(1, 1), site_binding(2, 2)], Conflict.CONFLICT),
        ([site_binding(1, 1), site_binding(1, 2)], Conflict.CONFLICT),
        ([site_binding(1, 1, RETIRED), site_binding(2, 2, RETIRED)], Conflict.CONFLICT),
        ([site_binding(1, 1), site_binding(2, 1, RETIRED)], Conflict.CONFLICT),
    ],
)
def test_an_established_binding_holds_a_username(found: list[SiteBinding], answer: object) -> None:
    assert choose(found) == answer
    assert choose(found[::-1]) == answer


# Roster (P15, P19)


def decision(*, allowed: bool = True, revision: int = 7, seconds: float = 60) -> ProjectDecision:
    return ProjectDecision(allowed, revision, 1, NOW + timedelta(seconds=seconds))


def told(standing: Standing, generation: int = 2) -> SiteMember:
    return SiteMember(ProjectId(uuid(1)), party(1), binding_id(1), 4, generation, standing)


def test_what_needs_no_authority_is_settled() -> None:
    assert settled(project(), site_binding(), None) is NoMember.ABSENT
    assert settled(project(), site_binding(), membership(1, 2, present=False)) == told(RETIRED)
    assert settled(project(), site_binding(standing=RETIRED), membership(1, 2)) == told(RETIRED)
    closed = project(lifecycle=Lifecycle.CLOSED)
    assert settled(closed, site_binding(), membership(1, 2)) == told(RETIRED)
    assert settled(project(), site_binding(), membership(1, 2)) is None


@pytest.mark.parametrize(
    ("given_decision", "answer"),
    [
        (decision(), told(ACTIVE)),
        (decision(allowed=False), told(RETIRED)),
        (decision(revision=8), Deferred.DECISION_OF_ANOTHER_REVISION),
        (decision(revision=6), Deferred.DECISION_OF_ANOTHER_REVISION),
        (decision(allowed=False, revision=8), Deferred.DECISION_OF_ANOTHER_REVISION),
        (decision(seconds=0), Deferred.DECISION_EXPIRED),
    ],
)
def test_membership_is_betos_decision(given_decision: ProjectDecision, answer: object) -> None:
    assert decide(project(), site_binding(), membership(1, 2), given_decision, NOW) == answer


@pytest.mark.parametrize(
    ("over", "answer"),
    [
        (authority(), told(ACTIVE)),
        (None, Deferred.AUTHORITY_MISSING),
        (authority(6), Deferred.AUTHORITY_OF_ANOTHER_REVISION),
        (authority(8), Deferred.AUTHORITY_OF_ANOTHER_REVISION),
        (authority(7, PENDING), Deferred.AUTHORITY_PENDING),
        (authority(7, CLOSED), Deferred.AUTHORITY_PENDING),
        (authority(seconds=0), Deferred.AUTHORITY_EXPIRED),
        (authority(seconds=0.000001), told(ACTIVE)),
    ],
)
def test_an_active_member_needs_authority_and_others_do_not(over: Any, answer: object) -> None:
    assert provision(told(ACTIVE), over, project(), NOW) == answer
    for stands in (told(RETIRED), NoMember.ABSENT):
        assert provision(stands, over, project(), NOW) == stands


# Several messages at once (P13)


def test_messages_are_followed_one_after_the_other_and_each_once() -> None:
    one, two, three = project(1), project(2, member(1, ref(1))), project(3)
    old = Told(one, NOW, by_message=True)
    news = [Told(value, NOW, by_message=True) for value in (two, three, two, three)]
    messages = [(uuid(n), told) for n, told in zip((1, 2, 3, 2), news, strict=True)]
    followed = follow({one.id: old}, {uuid(1), uuid(2), uuid(3)}, messages)
    assert [j.effect if j else None for j in followed.judgements] == [
        Effect.APPLIED,
        Effect.APPLIED,
        Effect.OLDER,
        None,
    ]
    assert [step.value for step in followed.steps] == [two, three]
    assert follow({one.id: old}, set(), messages).steps == []
