"""Accepted work in a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.retention.entrypoints.events import WORK_QUEUES
from tests.postgres.conftest import PgServer

ROLE = "pharos_resource_provisioning"


@pytest.fixture(scope="session")
def retention_template(pg_server: PgServer) -> str:
    """A database with the kernel's schema, the view's and this context's."""
    return pg_server.template("template_retention", ("central.projects", "central.retention"))


@pytest.fixture
def name(retention_template: str, clone: Callable[[str], str]) -> str:
    """A migrated database of this test alone."""
    return clone(retention_template)


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
    """The queue in the same database, with the queues of accepted work."""
    made = PostgresBroker(admin, waiters, options=BrokerOptions(look=0.05))
    for queue in WORK_QUEUES:
        made.declare(queue.spec)
    return made
