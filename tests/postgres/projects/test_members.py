"""The member behind a username, over HTTP and PostgreSQL: every answer and every non-answer (P15, P16,
P19).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from central.kernel.errors import Unavailable
from central.kernel.http import bearer_token, create_app
from central.kernel.observability import Metrics
from central.kernel.problems import NOT_FOUND, Problem
from central.projects.application.find_member import FindMember
from central.projects.application.roster import MemberRoster, ProvisioningRoster
from central.projects.domain.ids import ProjectId, Scope, Site
from central.projects.entrypoints.member_routes import MemberRoutes
from tests.contract.goldens import Refused, Valid, load
from tests.postgres.projects.conftest import LIMITS, View
from tests.simulators.beto.beto import Faults, ready_for
from tests.simulators.beto.truth import WALDUR

GOLDEN = load("site-member").valid
PROJECT, PARTY = GOLDEN[0].body["projectId"], GOLDEN[0].body["partyId"]
REF = "00000000-0000-4000-8000-000000000310"
BINDING = GOLDEN[0].body["bindingId"]
KEY = "slurm-intake-key-of-thirty-two-ch"
SLURM = Site("slurm")


@dataclass(slots=True)
class Sites:
    """`ProjectSites` as a set; `error` makes it unreadable."""

    known: set[tuple[UUID, str]] = field(default_factory=lambda: {(UUID(PROJECT), "slurm")})
    error: Exception | None = None

    def has_allocation(self, project: ProjectId, site: Site) -> bool:
        if self.error:
            raise self.error
        return (project, site) in self.known


@pytest.fixture
def sites() -> Sites:
    return Sites()


@pytest.fixture
def find_member(view: View, sites: Sites) -> FindMember:
    roster = ProvisioningRoster(MemberRoster(view.reads, view.questions))
    return FindMember(view.resolve, sites, view.bindings, roster)


@pytest.fixture
def app(view: View, find_member: FindMember) -> Flask:
    def admit(site: Site) -> None:
        if bearer_token() != KEY:
            raise Problem(NOT_FOUND, "no such path")

    app = create_app("trial", metrics=Metrics("trial"), ready=lambda: None)
    routes = MemberRoutes(find_member, WALDUR, admit, view.clock)
    for blueprint in routes.blueprints([SLURM, Site("k8s")]):
        app.register_blueprint(blueprint)
    return app


@pytest.fixture
def member(view: View) -> View:
    """The goldens' member: Project 302 with Party 301, re-added once, known as u1 at slurm."""
    truth = view.beto.truth
    known_as = {"bindingId": BINDING, "revision": 4, "provider": "site", "instance": "slurm", "subject": "u1"}
    truth.parties[PARTY] = {
        "partyId": PARTY,
        "revision": 5,
        "state": "active",
        "providerBindings": [known_as | {"state": "established"}],
    }
    truth.projects[PROJECT] = {
        "projectId": PROJECT,
        "revision": 1,
        "lifecycle": "active",
        "providerBindings": [],
        "members": [],
    }
    truth.bind_project(PROJECT, REF)
    view.load()
    view.beto.tell(truth.add_member(PROJECT, PARTY), truth.add_member(PROJECT, PARTY))
    told(view, truth.set_authority(PROJECT, "ready", ready_for(view.clock), management=3))
    return view


def told(view: View, *changes: Any) -> None:
    """Tells changes and lets the view follow them."""
    view.clock.pass_by(10)
    view.beto.tell(*changes)
    view.beto.flush(view.broker)
    for handled in view.consume():
        assert handled.retried == handled.refused == 0


def ask(app: Flask, path: str, **headers: str) -> Any:
    given = {"Authorization": f"Bearer {KEY}", "Pharos-Schema": "1-1"} | headers
    return app.test_client().get(path, headers=given)


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
    assert ask(app, path, Authorization="Bearer other").status_code == 404


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
