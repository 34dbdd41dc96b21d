"""Allocations and the view together: a report waits for its Project, is bound by Beto's event, and the
Site may ask for its members (P3, P13, P19).
"""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.processes.provisioning_intake import Intake, SiteQueries, build_app
from central.processes.provisioning_worker import BetoView
from central.processes.retention import retained_accounts
from central.projects.domain.ids import Scope
from central.projects.entrypoints.events import QUEUES
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from tests.postgres.conftest import PgServer
from tests.postgres.projects.conftest import LIMITS, ROLE
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, PROJECT_REF, Agent, resource
from tests.simulators.beto.beto import Beto, Clock, ready_for
from tests.simulators.beto.speaker import speaking
from tests.simulators.owner.owner import OWNERS


@pytest.fixture
def both(database_name: str) -> str:
    """A database with every context."""
    return database_name


def test_an_allocation_finds_its_project_and_its_members(pg_server: PgServer, both: str) -> None:
    clock = Clock()
    beto = Beto(clock=clock)
    waiters = Waiters(pg_server.admin_url(both), CHANNELS)
    waiters.start()
    with (
        Database(DatabaseOptions(pg_server.admin_url(both))) as admin,
        Database(DatabaseOptions(pg_server.role_url(ROLE, both), pool_size=8)) as owner,
    ):
        broker = PostgresBroker(admin, waiters)
        for queue in QUEUES:
            broker.declare(queue)
        view = BetoView(owner, broker, LIMITS, clock)
        app = mounted(owner, view, clock)
        agent = Agent(app)

        def follow() -> None:
            beto.flush(broker)
            for consumer in view.consumers():
                with broker.subscribe(consumer.queue) as subscription:
                    consumer.turn(subscription)

        def report() -> dict[str, Any]:
            clock.pass_by(10)
            (outcome,) = agent.report(clock().isoformat().replace("+00:00", "Z"), resource())
            found: dict[str, Any] = agent.allocation(outcome["allocationId"]).get_json()
            return found

        def member() -> tuple[int, str]:
            path = f"/resource-provisioning/slurm/members/u1?providerProjectRef={PROJECT_REF}"
            answer = app.test_client().get(path, headers=agent.headers())
            body = answer.get_json()
            return answer.status_code, body.get("state") or body["code"]

        with speaking(beto, broker) as malformed:
            assert report()["reasons"] == ["project_unbound"]
            assert member() == (503, "unavailable")
            synchronise = view.synchronise(lambda seconds: None)
            for scope in Scope:
                synchronise(scope)
            assert report()["reasons"] == ["project_unbound"]
            assert member() == (404, "member_unknown")
            party, known = beto.truth.new_party(site="slurm", username="u1")
            project, made = beto.truth.new_project(PROJECT_REF.upper())
            beto.tell(known, made, beto.truth.add_member(project, party))
            beto.tell(beto.truth.set_authority(project, "ready", ready_for(clock)))
            follow()
            assert member() == (404, "member_unknown")
            bound = report()
            assert (bound["projectId"], bound["lifecycle"]) == (project, "ready")
            assert member() == (200, "active")
            beto.tell(beto.truth.close_project(project))
            follow()
            assert member() == (200, "retired")
            assert report()["projectId"] == project
        assert malformed == []
    waiters.close()


def mounted(owner: Database, view: BetoView, clock: Clock) -> Flask:
    """The intake with the view behind it."""
    sites = PostgresSavedAllocations(owner)
    queries = SiteQueries(
        view.find_member(sites), view.list_members(sites), retained_accounts(owner, view, OWNERS)
    )
    return build_app(owner, Intake(KEYS, INSTANCE, view.resolve_projects, queries, clock=clock))
