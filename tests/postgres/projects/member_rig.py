"""A member and the routes that tell of it: what the tests of both routes stand on (P19)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any
from uuid import UUID

from flask import Flask, request

from central.kernel.http import bearer_token, create_app
from central.kernel.observability import Metrics
from central.kernel.site_names import Site
from central.kernel.wire_schema import check_schema
from central.projects.application.find_member import FindMember
from central.projects.application.list_members import ListMembers
from central.projects.application.roster import MemberRoster, ProvisioningRoster
from central.projects.domain.ids import ProjectId
from central.projects.entrypoints.member_routes import MemberRoutes
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from tests.contract.goldens import load
from tests.simulators.beto.beto import ready_for
from tests.simulators.beto.truth import WALDUR

if TYPE_CHECKING:
    from tests.postgres.projects.conftest import View

GOLDEN = load("site-member").valid
PROJECT, PARTY = GOLDEN[0].body["projectId"], GOLDEN[0].body["partyId"]
REF = "00000000-0000-4000-8000-000000000310"
BINDING = GOLDEN[0].body["bindingId"]
MANY = "/resource-provisioning/slurm/project-members"
KEY = "slurm-intake-key-of-thirty-two-ch"
TURNS = 2
KEY_OF_K8S = "k8s-intake-key-of-thirty-two-char"
SLURM = Site("slurm")


@dataclass(slots=True)
class Sites:
    """`ProjectSites` as a set; `error` makes it unreadable."""

    known: set[tuple[UUID, str]] = field(default_factory=lambda: {(UUID(PROJECT), "slurm")})
    error: Exception | None = None

    def with_allocations(self, projects: Collection[ProjectId], site: Site) -> Collection[ProjectId]:
        if self.error:
            raise self.error
        return {project for project in projects if (project, site) in self.known}


def member_finder(view: View, sites: Sites) -> FindMember:
    """The use case of one member over the test's view."""
    roster = ProvisioningRoster(MemberRoster(view.reads, view.questions))
    return FindMember(view.resolve, sites, view.bindings, roster)


def member_app(view: View, sites: Sites) -> Flask:
    """Both routes of slurm, which holds `KEY`, and of k8s, which holds another."""
    keys = IntakeKeys.of({Site("slurm"): [KEY], Site("k8s"): [KEY_OF_K8S]})

    def admit(site: Site) -> None:
        keys.check(Site(site), bearer_token())
        check_schema(request.headers.get("Pharos-Schema"))

    app = create_app("trial", metrics=Metrics("trial"), ready=lambda: None)
    members = ListMembers(view.resolve, sites, view.reads, view.questions)
    routes = MemberRoutes(
        member_finder(view, sites), members, WALDUR, admit, view.clock, BoundedSemaphore(TURNS)
    )
    for blueprint in routes.blueprints([SLURM, Site("k8s")]):
        app.register_blueprint(blueprint)
    return app


def know_the_golden_member(view: View) -> None:
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


def told(view: View, *changes: Any) -> None:
    """Tells changes and lets the view follow them."""
    view.clock.pass_by(10)
    view.beto.tell(*changes)
    view.beto.flush(view.broker)
    for handled in view.consume():
        assert handled.retried == handled.refused == 0


def ask(app: Flask, path: str, **headers: str | None) -> Any:
    """The answer to a Site's agent; a header given as None is left out."""
    key = KEY_OF_K8S if "/k8s/" in path else KEY
    given = {"Authorization": f"Bearer {key}", "Pharos-Schema": "1-1"} | headers
    return app.test_client().get(path, headers={n: v for n, v in given.items() if v is not None})


def post(app: Flask, raw: bytes, path: str = MANY, **headers: str | None) -> Any:
    usual: dict[str, str | None] = {
        "Authorization": f"Bearer {KEY}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    }
    sent = {name: value for name, value in (usual | headers).items() if value is not None}
    return app.test_client().post(path, data=raw, headers=sent)


PATH = f"/resource-provisioning/slurm/members?providerProjectRef={REF}"


def listed(app: Flask, path: str = PATH) -> tuple[int, Any]:
    """Status, and username → state, or the code."""
    answer = ask(app, path)
    body = answer.get_json()
    if answer.status_code != 200:
        return answer.status_code, body["code"]
    rows = body["members"]
    names = [row["username"] for row in rows]
    assert (body["count"], names) == (len(rows), sorted(set(names)))
    return 200, {row["username"]: row["state"] for row in rows}


def known_as(view: View, ids: dict[str, Any], username: str) -> None:
    """Tells of a Party that once was a member, under the golden's ids."""
    truth = view.beto.truth
    binding = {
        "bindingId": ids["bindingId"],
        "revision": ids["bindingRevision"],
        "provider": "site",
        "instance": "slurm",
        "subject": username,
        "state": "established",
    }
    truth.parties[ids["partyId"]] = {
        "partyId": ids["partyId"],
        "revision": 1,
        "state": "active",
        "providerBindings": [binding],
    }
    told(view, ("parties", dict(truth.parties[ids["partyId"]])), truth.add_member(PROJECT, ids["partyId"]))
    told(view, truth.remove_member(PROJECT, ids["partyId"]))
    told(view, truth.set_authority(PROJECT, "ready", ready_for(view.clock), management=3))


def told_party(view: View, username: str) -> str:
    party, change = view.beto.truth.new_party(site="slurm", username=username)
    told(view, change)
    return party
