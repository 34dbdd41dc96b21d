"""The member behind a username, over HTTP and PostgreSQL: every answer and every non-answer (P15, P16,
P19).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from central.kernel.errors import Unavailable
from central.projects.application.find_member import FindMember
from central.projects.domain.ids import Scope
from tests.contract.goldens import Refused, Valid, load
from tests.postgres.projects.conftest import LIMITS, View
from tests.postgres.projects.member_rig import BINDING, GOLDEN, PARTY, PROJECT, REF, SLURM, Sites, ask, told
from tests.simulators.beto.beto import Faults, ready_for
from tests.simulators.beto.truth import WALDUR


def get(app: Flask, username: str = "u1", ref: str = REF, site: str = "slurm") -> tuple[int, str]:
    """Status, and state or code."""
    answer = ask(app, f"/resource-provisioning/{site}/members/{username}?providerProjectRef={ref}")
    body = answer.get_json()
    return answer.status_code, body.get("state") or body["code"]


UNAVAILABLE = (503, "unavailable")
UNKNOWN = (404, "member_unknown")


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: str(case.name))
def test_the_golden_answers_byte_for_byte(member: View, app: Flask, case: Valid) -> None:
    if case.name == "retired":
        told(member, member.beto.truth.remove_member(PROJECT, PARTY))
    answer = ask(app, case.request["path"])
    assert (answer.status_code, answer.data) == (200, case.canonical)


@pytest.mark.parametrize("case", load("site-member-request").valid, ids=lambda case: str(case.name))
def test_the_golden_questions_are_answered(member: View, app: Flask, case: Valid) -> None:
    answer = ask(app, case.request["path"])
    assert (answer.status_code, answer.data) == (200, GOLDEN[0].canonical)


@pytest.mark.parametrize("case", load("site-member-request").refused, ids=lambda case: str(case.name))
def test_the_golden_refusals(member: View, app: Flask, case: Refused) -> None:
    answer = ask(app, case.request["path"])
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code)


def test_nothing_is_looked_at_without_a_key(app: Flask) -> None:
    path = f"/resource-provisioning/slurm/members/u1?providerProjectRef={REF}"
    assert ask(app, path, Authorization="Bearer other").status_code == 401


def test_an_empty_view_is_unavailable_and_never_not_found(view: View, app: Flask) -> None:
    assert get(app) == UNAVAILABLE
    view.synchronise(Scope.PROJECTS)
    assert get(app) == UNAVAILABLE
    view.load()
    assert get(app) == UNKNOWN


def test_a_project_is_answered_only_where_it_has_an_allocation(
    member: View, app: Flask, sites: Sites
) -> None:
    assert get(app) == (200, "active")
    assert get(app, site="k8s") == UNKNOWN
    asked = len(member.beto.asked)
    sites.known.clear()
    assert get(app) == UNKNOWN
    assert len(member.beto.asked) == asked
    sites.error = Unavailable("unavailable", "the allocations cannot be read")
    assert get(app) == UNAVAILABLE


def test_a_provider_project_two_projects_hold_is_a_conflict(member: View, app: Flask) -> None:
    other, change = member.beto.truth.new_project(REF.replace("-", "").upper())
    told(member, change)
    assert get(app) == UNAVAILABLE
    told(member, member.beto.truth.bind_project(other, None))
    assert get(app) == (200, "active")
    told(member, member.beto.truth.bind_project(PROJECT, None))
    assert get(app) == UNKNOWN


def test_usernames(member: View, app: Flask) -> None:
    truth = member.beto.truth
    other, change = truth.new_party(site="slurm", username="u1")
    told(member, change)
    assert get(app) == UNAVAILABLE
    told(member, truth.retire_binding(other, 0))
    assert get(app) == (200, "active")
    told(member, truth.retire_binding(PARTY, 0))
    assert get(app) == UNAVAILABLE
    told(member, truth.bind_site(PARTY, "slurm", "u2"))
    assert get(app, "u2") == (200, "active")
    told(member, truth.retire_party(PARTY))
    assert get(app, "u2") == (200, "retired")
    assert get(app, "U2") == UNKNOWN


def test_one_binding_at_two_parties_is_a_conflict_under_either_name(member: View, app: Flask) -> None:
    truth = member.beto.truth
    other, _ = truth.new_party(site="slurm", username="u8")
    truth.parties[other]["providerBindings"][0]["bindingId"] = BINDING
    told(member, truth.bind_site(other, "slurm", "u9"))
    assert get(app, "u1") == get(app, "u8") == UNAVAILABLE
    told(member, truth.retire_binding(other, 0))
    assert get(app, "u1") == get(app, "u8") == UNAVAILABLE
    assert get(app, "u9") == UNKNOWN


@pytest.mark.parametrize("who", ["member", "left", "never"])
@pytest.mark.parametrize(
    ("authority", "covers"),
    [("ready", True), ("pending", False), ("closed", False), ("expired", False), ("older", False)],
)
def test_authority_defers_the_active_alone(
    member: View, app: Flask, who: str, authority: str, covers: bool
) -> None:
    truth = member.beto.truth
    _, change = truth.new_party(site="slurm", username="never")
    told(member, change)
    if who == "left":
        told(member, truth.remove_member(PROJECT, PARTY))
    if authority != "older":
        state = authority if authority in ("pending", "closed") else "ready"
        told(member, truth.set_authority(PROJECT, state, ready_for(member.clock, 30), management=3))
    else:
        told(member, truth.touch_binding(PROJECT, PARTY))
    if authority == "expired":
        member.clock.pass_by(21)
    wanted = {
        "member": (200, "active") if covers else UNAVAILABLE,
        "left": (200, "retired"),
        "never": UNKNOWN,
    }
    assert get(app, "never" if who == "never" else "u1") == wanted[who]


def test_a_closed_project_has_no_active_members(member: View, app: Flask) -> None:
    told(member, member.beto.truth.close_project(PROJECT))
    assert get(app) == (200, "retired")


def test_betos_decision_is_the_membership(member: View, app: Flask) -> None:
    member.beto.denied.add((PROJECT, PARTY))
    assert get(app) == (200, "retired")
    member.beto.faults = Faults(silent=True)
    assert get(app) == UNAVAILABLE
    member.beto.faults = Faults(corrupt=lambda answer: answer | {"decision": "maybe"})
    assert get(app) == UNAVAILABLE
    member.beto.faults = Faults(corrupt=lambda answer: answer | {"projectRevision": 99})
    assert get(app) == UNAVAILABLE
    member.beto.faults = Faults(silent=True)
    told(member, member.beto.truth.remove_member(PROJECT, PARTY))
    assert get(app) == (200, "retired")


@pytest.mark.parametrize("scope", list(Scope))
def test_a_diverged_or_stale_scope_answers_nothing(member: View, app: Flask, scope: Scope) -> None:
    member.store.diverge(scope, "trial")
    assert get(app) == UNAVAILABLE
    assert get(app, "nobody") == (UNAVAILABLE if scope is not Scope.AUTHORITIES else UNKNOWN)
    member.load()
    assert get(app) == (200, "active")
    member.clock.pass_by(LIMITS.stale_after / timedelta(seconds=1))
    assert get(app) == UNAVAILABLE


def test_a_tombstone_keeps_its_generation_and_a_return_advances_it(
    member: View, find_member: FindMember
) -> None:
    truth = member.beto.truth

    def generation() -> int:
        found = find_member(SLURM, WALDUR, REF, "u1", member.now())
        assert found is not None
        return found.generation

    def ready() -> Any:
        return truth.set_authority(PROJECT, "ready", ready_for(member.clock), management=3)

    steps: list[tuple[Callable[[], Any], int]] = [
        (lambda: truth.touch_binding(PROJECT, PARTY), 2),
        (lambda: truth.remove_member(PROJECT, PARTY), 2),
        (lambda: truth.add_member(PROJECT, PARTY, pending=True), 2),
        (lambda: truth.add_member(PROJECT, PARTY), 3),
        (lambda: truth.add_member(PROJECT, PARTY), 4),
        (lambda: truth.add_member(PROJECT, PARTY, pending=True), 4),
    ]
    for act, wanted in steps:
        told(member, act(), ready())
        assert generation() == wanted
