"""What a Site is answered over the real view: a member's life in Beto, and work accepted meanwhile (P28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from central.kernel.database import Database
from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.kernel.site_names import Site
from central.kernel.times import format_rfc3339
from central.processes.provisioning_worker import BetoView
from central.processes.retention import retained_accounts
from central.projects.adapters.postgres_fences import PostgresFences
from central.projects.application.retention_fences import AccountHolder, RetentionFences
from central.projects.domain.ids import BindingId, PartyId, ProjectId
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.recover import Pass, Recover
from central.retention.domain.recovery import RecoveryLimits
from central.retention.entrypoints.events import WORK_QUEUES
from central.retention.entrypoints.retained_routes import RetainedRoutes
from tests.postgres.counting import counted
from tests.postgres.projects.conftest import LIMITS, View
from tests.simulators.beto.beto import Beto, Clock, ready_for
from tests.simulators.beto.memory_broker import MemoryBroker
from tests.simulators.owner.owner import OWNERS, WorkOwner
from tests.unit.central.retention.memory import Queues

SITE = "slurm"


@dataclass(slots=True)
class World:
    """A Project with one member, whose account work was accepted with; and who is asked for the list."""

    database: Database
    beto: Beto
    owners: dict[str, WorkOwner]
    app: Flask
    clock: Clock
    project: str = ""
    party: str = ""

    @property
    def truth(self) -> Any:
        return self.beto.truth

    def tell(self) -> None:
        """Beto's truth reaches the view, whole."""
        View(self.database, MemoryBroker(), self.beto, self.clock).load()

    def account(self, *, generation: int = 1, management: int = 1, index: int = 0) -> dict[str, Any]:
        binding = self.truth.parties[self.party]["providerBindings"][index]
        return {
            "projectId": self.project,
            "partyId": self.party,
            "site": SITE,
            "bindingId": binding["bindingId"],
            "generation": generation,
            "managementGeneration": management,
        }

    def recover(self) -> None:
        """A pass that stands."""
        questions = OwnerQuestions(lambda owner, one, body: self.owners[owner].ask(one, body))
        queues = tuple(queue.spec.name for queue in WORK_QUEUES)
        store = PostgresWork(self.database)
        recover = Recover(store, questions, Queues(), OWNERS, queues, RecoveryLimits(), self.clock)
        assert recover().outcome is Pass.STOOD

    def get(self, path: str = f"/resource-provisioning/{SITE}/retained-accounts") -> tuple[int, Any]:
        answer = self.app.test_client().get(path)
        return answer.status_code, answer.get_json()

    def usernames(self) -> Any:
        """Those kept, or the code of why there is no list."""
        status, body = self.get()
        if status != 200:
            assert status == 503
            return body["code"]
        assert body["count"] == len(body["accounts"])
        return [account["username"] for account in body["accounts"]]


@pytest.fixture
def world(owner: Database) -> World:
    clock = Clock()
    app = create_app("retained", metrics=Metrics("retained"), ready=lambda: None)
    view = BetoView(owner, MemoryBroker(), LIMITS, clock)
    routes = RetainedRoutes(retained_accounts(owner, view, OWNERS), lambda site: None, clock)
    app.register_blueprint(routes.blueprint([Site(SITE), Site("k8s")]))
    owners = {str(name): WorkOwner(clock=clock, name=name) for name in OWNERS}
    made = World(owner, Beto(clock=clock), owners, app, clock)
    made.party, _ = made.truth.new_party(site=SITE, username="u1")
    made.project, _ = made.truth.new_project()
    made.truth.add_member(made.project, made.party)
    made.truth.set_authority(made.project, "ready", ready_for(clock), management=1)
    made.owners["execution"].accept(made.account())
    return made


def test_p28_the_account_of_accepted_work_outlives_the_membership(world: World) -> None:
    world.tell()
    world.recover()
    status, body = world.get()
    account = world.account()
    assert (status, body) == (
        200,
        {
            "schema": 1,
            "site": SITE,
            "asOf": format_rfc3339(world.clock()),
            "count": 1,
            "accounts": [
                {name: account[name] for name in ("projectId", "partyId", "bindingId", "generation")}
                | {"username": "u1"}
            ],
        },
    )
    world.truth.remove_member(world.project, world.party)
    world.tell()
    assert world.usernames() == ["u1"]
    assert world.get("/resource-provisioning/k8s/retained-accounts")[1]["accounts"] == []


FENCES: dict[str, Callable[[World], object]] = {
    "the Project is closed": lambda w: w.truth.close_project(w.project),
    "another management generation": lambda w: w.truth.set_authority(
        w.project, "ready", ready_for(w.clock), management=2
    ),
    "the binding is retired": lambda w: w.truth.retire_binding(w.party, 0),
    "the Party is retired": lambda w: w.truth.retire_party(w.party),
    "the membership's binding is replaced": lambda w: w.truth.add_member(w.project, w.party),
}


@pytest.mark.parametrize("fence", FENCES)
def test_p28_a_fence_takes_the_account_out(world: World, fence: str) -> None:
    world.tell()
    world.recover()
    assert world.usernames() == ["u1"]
    FENCES[fence](world)
    world.tell()
    assert world.usernames() == []


def test_p28_a_member_added_again_has_another_account(world: World) -> None:
    world.tell()
    world.recover()
    world.truth.remove_member(world.project, world.party)
    world.tell()
    assert world.usernames() == ["u1"]
    world.truth.add_member(world.project, world.party)
    world.tell()
    assert world.usernames() == []
    world.owners["pipeline"].accept(world.account(generation=2), kind="pipeline")
    world.recover()
    assert world.usernames() == ["u1"]


def test_p28_a_passed_deadline_is_not_a_release_and_a_release_is(world: World) -> None:
    world.tell()
    world.recover()
    world.clock.pass_by(10 * 86_400)
    world.tell()
    world.recover()
    assert world.usernames() == ["u1"]
    (item,) = world.owners["execution"].items
    world.owners["execution"].release(item)
    world.recover()
    assert world.usernames() == []


def test_p28_the_name_is_the_bindings_and_another_binding_changes_nothing(world: World) -> None:
    world.truth.bind_site(world.party, SITE, "u2")
    world.owners["execution"].accept(world.account(index=1))
    world.tell()
    world.recover()
    assert sorted(world.usernames()) == ["u1", "u2"]


def _another_holder(world: World) -> None:
    """Another Party has the same username at the Site, established."""
    world.truth.new_party(site=SITE, username="u1")


def _same_binding_twice(world: World) -> None:
    """Another Party has the very same binding id."""
    other, _ = world.truth.new_party()
    binding = dict(world.truth.parties[world.party]["providerBindings"][0])
    world.truth._party(other, "active", [binding | {"subject": "u7"}])


UNKNOWN: dict[str, Callable[[World], object]] = {
    "an unknown Project": lambda w: w.owners["execution"].accept(
        w.account() | {"projectId": w.truth.new_id()}
    ),
    "an unknown binding": lambda w: w.owners["execution"].accept(
        w.account() | {"bindingId": w.truth.new_id()}
    ),
    "a Party that never was a member": lambda w: w.owners["execution"].accept(
        w.account() | {"partyId": w.truth.new_party(site=SITE, username="u3")[0]}
    ),
    "a binding of another Site": lambda w: w.owners["execution"].accept(
        w.account() | {"bindingId": _bound_elsewhere(w)}
    ),
    "an authority that was not told": lambda w: w.truth.authorities.clear(),
    "a view behind the generation": lambda w: w.owners["execution"].accept(w.account(generation=2)),
    "a view behind the management generation": lambda w: w.owners["execution"].accept(
        w.account(management=2)
    ),
    "a username in conflict": _another_holder,
    "a binding in conflict": _same_binding_twice,
}


def _bound_elsewhere(world: World) -> str:
    world.truth.bind_site(world.party, "k8s", "u1")
    return str(world.truth.parties[world.party]["providerBindings"][1]["bindingId"])


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_p28_what_the_view_cannot_judge_is_503_and_never_a_short_list(world: World, unknown: str) -> None:
    UNKNOWN[unknown](world)
    world.tell()
    world.recover()
    assert world.usernames() == "unavailable"


def test_p28_no_list_before_the_view_or_a_pass_stands(world: World) -> None:
    status, body = world.get()
    assert (status, body["code"]) == (503, "recovery_pending")
    world.recover()
    assert world.usernames() == "unavailable"
    world.tell()
    assert world.usernames() == ["u1"]
    PostgresWork(world.database).start()
    assert world.usernames() == "recovery_pending"


def test_p28_an_unloaded_view_leaves_no_list_even_where_nothing_is_required(world: World) -> None:
    (item,) = world.owners["execution"].items
    world.owners["execution"].release(item)
    world.recover()
    assert world.usernames() == "unavailable"


def test_p28_a_refusal_says_when_to_ask_again_and_a_query_is_refused(world: World) -> None:
    answer = world.app.test_client().get(f"/resource-provisioning/{SITE}/retained-accounts")
    assert answer.headers["Retry-After"] == "30"
    assert answer.get_json()["detail"] == "no recovery pass was made yet"
    path = f"/resource-provisioning/{SITE}/retained-accounts?limit=1"
    assert world.app.test_client().get(path).status_code == 400


def test_p28_many_holders_cost_as_many_statements_as_one(world: World, admin: Database) -> None:
    """Set-based: the number of statements does not grow with accounts."""
    world.tell()
    truth = world.truth
    holders = []
    for number in range(300):
        party, _ = truth.new_party(site=SITE, username=f"m{number}")
        truth.add_member(world.project, party)
        holders.append(party)
    world.tell()
    fences = RetentionFences(PostgresFences(world.database, LIMITS))
    asked = [
        AccountHolder(
            ProjectId(UUID(world.project)),
            PartyId(UUID(party)),
            Site(SITE),
            BindingId(UUID(truth.parties[party]["providerBindings"][0]["bindingId"])),
        )
        for party in holders
    ]
    with counted() as statements:
        fences.of(asked[:1], world.clock())
    with counted() as more:
        answers = fences.of(asked, world.clock())
    assert len(answers) == 300
    assert len(statements) == len(more) > 0
