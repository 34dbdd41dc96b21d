"""The operators' page over a database of its own, beside an intake that fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.observability import Metrics
from central.processes.overview import build_app
from tests.contract.goldens import canonical
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.conftest import (
    Agent,
    Clock,
    admin,
    agent,
    app,
    clock,
    intake_database,
    name,
    projects,
)
from tests.postgres.web.rig import Overview, settings_of

__all__ = ["admin", "agent", "app", "clock", "intake_database", "name", "projects"]


@pytest.fixture
def overview_url(pg_server: PgServer, name: str) -> str:
    return pg_server.role_url("pharos_overview", name)


@pytest.fixture
def overview(overview_url: str, clock: Clock) -> Iterator[Overview]:
    """The page as its own role."""
    with Database(DatabaseOptions(overview_url, pool_size=2)) as database:
        yield Overview(build_app(settings_of(overview_url), database, Metrics("overview"), clock))


@pytest.fixture
def tell_accounts(agent: Agent) -> Callable[..., None]:
    """Reports an allocation's complete set of accounts."""

    def tell(allocation: str, observed_at: str, *accounts: dict[str, Any]) -> None:
        body = {
            "schema": 1,
            "reportId": str(uuid4()),
            "observedAt": observed_at,
            "allocationId": allocation,
            "accounts": list(accounts),
        }
        path = f"/resource-provisioning/{agent.site}/accounts"
        answer = agent.app.test_client().post(path, data=canonical(body), headers=agent.headers())
        assert answer.status_code == 200, answer.text

    return tell
