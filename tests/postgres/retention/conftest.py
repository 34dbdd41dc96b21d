"""Accepted work in a database of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from central.kernel.broker_postgres import BrokerOptions, PostgresBroker
from central.kernel.database import Database
from central.kernel.notifications import Waiters
from central.retention.entrypoints.events import WORK_QUEUES
from tests.postgres.conftest import PgServer
from tests.postgres.projects.conftest import ROLE, admin, owner, waiters

__all__ = ["ROLE", "admin", "broker", "name", "owner", "retention_template", "waiters"]


@pytest.fixture(scope="session")
def retention_template(pg_server: PgServer) -> str:
    """A database with the kernel's schema, the view's and this context's."""
    return pg_server.template("template_retention", ("central.projects", "central.retention"))


@pytest.fixture
def name(retention_template: str, clone: Callable[[str], str]) -> str:
    """A migrated database of this test alone."""
    return clone(retention_template)


@pytest.fixture
def broker(admin: Database, waiters: Waiters) -> PostgresBroker:
    """The queue in the same database, with the queues of accepted work."""
    made = PostgresBroker(admin, waiters, options=BrokerOptions(look=0.05))
    for queue in WORK_QUEUES:
        made.declare(queue.spec)
    return made
