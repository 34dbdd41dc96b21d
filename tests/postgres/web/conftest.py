"""The operators' page over a database of its own, beside an intake that fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from central.kernel.database import Database, DatabaseOptions
from central.kernel.observability import Metrics
from central.processes.overview import build_app
from central.settings import Settings, load_settings
from tests.contract.goldens import canonical
from tests.html import faults
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

__all__ = ["admin", "agent", "app", "clock", "intake_database", "name", "projects"]


@dataclass(frozen=True, slots=True)
class Overview:
    """The page, asked as a browser on this machine does."""

    app: Flask

    def get(self, path: str = "/", **headers: str) -> TestResponse:
        """An answer, whatever it is."""
        sent = {"Host": "localhost:8449", "Accept": "text/html,application/xhtml+xml;q=0.9"} | headers
        return self.app.test_client().get(path, headers=sent)

    def page(self, path: str = "/", status: int = 200) -> str:
        """A page that is well made."""
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        assert faults(answer.text) == []
        return answer.text


def settings_of(url: str, **more: str) -> Settings:
    """The process's settings."""
    return load_settings({"PHAROS_DATABASE_URL": url, "PHAROS_SITES": "slurm,k8s"} | more, "overview")


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


def account(number: int, party: UUID, **changes: Any) -> dict[str, Any]:
    """A ready account."""
    return {
        "partyId": str(party),
        "name": f"u{number}",
        "nativeUid": f"5f1c9a30-0000-1040-8000-{number:012}/{number}",
        "uidNumber": 5_000_000 + number,
        "bindingId": str(UUID(int=0x304)),
        "generation": 1,
        "state": "ready",
    } | changes
