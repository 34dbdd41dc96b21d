"""The view over a database of its own, beside a Beto that keeps its own truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest
from flask import Flask

from central.kernel.broker import Broker, Consumer, Handled
from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.projects.adapters.beto_questions import BetoQuestions
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.adapters.postgres_view import PostgresView
from central.projects.application.apply_events import ApplyEvents
from central.projects.application.find_member import FindMember
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.application.site_bindings import SiteBindings
from central.projects.application.synchronise import Synchronise, Synchronised
from central.projects.domain.ids import Scope
from central.projects.domain.view import ViewLimits
from central.projects.entrypoints.events import QUEUES, ViewConsumer
from tests.postgres.conftest import PgServer
from tests.postgres.projects.member_rig import Sites, know_the_golden_member, member_app, member_finder
from tests.simulators.beto.beto import Beto, Clock

ROLE = "pharos_resource_provisioning"
LIMITS = ViewLimits(settle_attempts=2)


@dataclass(slots=True)
class View:
    """The view, wired over one database, one broker and one Beto."""

    database: Database
    broker: Broker
    beto: Beto
    clock: Clock

    @property
    def store(self) -> PostgresView:
        return PostgresView(self.database)

    @property
    def reads(self) -> PostgresReads:
        return PostgresReads(self.database, LIMITS)

    @property
    def resolve(self) -> ResolveProjects:
        return ResolveProjects(self.reads, self.clock)

    @property
    def bindings(self) -> SiteBindings:
        return SiteBindings(self.reads)

    @property
    def limits(self) -> ViewLimits:
        return LIMITS

    @property
    def questions(self) -> BetoQuestions:
        return BetoQuestions(self.beto.ask)

    def synchronise(
        self,
        scope: Scope,
        *,
        limits: ViewLimits = LIMITS,
        pause: Callable[[float], None] = lambda seconds: None,
    ) -> Synchronised:
        """One pass over a scope; nobody waits."""
        return Synchronise(self.store, self.questions, limits, self.clock, pause)(scope)

    def load(self) -> None:
        """Every scope, which must become current."""
        for scope in Scope:
            outcome = self.synchronise(scope)
            assert outcome.outcome in ("loaded", "repaired", "matched"), outcome

    def consume(self) -> list[Handled]:
        """Each queue's messages that are due."""
        handled = []
        for queue in QUEUES:
            with self.broker.subscribe(queue.name) as subscription:
                handled.append(self.consumer(queue.name).turn(subscription))
        return handled

    def consumer(self, name: str) -> Consumer:
        handle = ViewConsumer(name, ApplyEvents(self.store), self.clock)
        return Consumer(name, handle, check=handle.check, batch=500)

    def now(self) -> datetime:
        return self.clock()


@pytest.fixture(scope="session")
def projects_template(pg_server: PgServer) -> str:
    """A database with the kernel's schema and this context's."""
    return pg_server.template("template_projects", ("central.projects",))


@pytest.fixture
def name(projects_template: str, clone: Callable[[str], str]) -> str:
    """A migrated database of this test alone."""
    return clone(projects_template)


@pytest.fixture
def owner(pg_server: PgServer, name: str) -> Iterator[Database]:
    """It, as the owner process."""
    with Database(DatabaseOptions(pg_server.role_url(ROLE, name), pool_size=8)) as opened:
        yield opened


@pytest.fixture
def admin(pg_server: PgServer, name: str) -> Iterator[Database]:
    """It, as superuser: to look and to break things."""
    with Database(DatabaseOptions(pg_server.admin_url(name), pool_size=8)) as opened:
        yield opened


@pytest.fixture
def waiters(pg_server: PgServer, name: str) -> Iterator[Waiters]:
    """The LISTEN connection of a worker."""
    made = Waiters(pg_server.admin_url(name), CHANNELS)
    made.start()
    yield made
    made.close()


@pytest.fixture
def broker(admin: Database, waiters: Waiters) -> PostgresBroker:
    """The queue in the same database, with the view's queues."""
    made = PostgresBroker(admin, waiters, options=BrokerOptions(look=0.05))
    for queue in QUEUES:
        made.declare(queue)
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def view(owner: Database, broker: PostgresBroker, clock: Clock) -> View:
    return View(owner, broker, Beto(clock=clock), clock)


@pytest.fixture
def sites() -> Sites:
    return Sites()


@pytest.fixture
def find_member(view: View, sites: Sites) -> FindMember:
    return member_finder(view, sites)


@pytest.fixture
def app(view: View, sites: Sites) -> Flask:
    return member_app(view, sites)


@pytest.fixture
def member(view: View) -> View:
    """The view once it knows the goldens' member."""
    know_the_golden_member(view)
    return view
