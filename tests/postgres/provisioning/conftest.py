"""The intake over a database of its own: `site.report(…)` speaks HTTP as a Site's agent does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from central.kernel.database import Database, DatabaseOptions
from central.kernel.site_names import Site
from central.processes.provisioning_intake import Intake, build_app
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef
from tests.contract.goldens import canonical
from tests.postgres.conftest import PgServer

ROLE = "pharos_resource_provisioning"
INSTANCE = WaldurInstance("https://waldur.example.org/")
KEYS = {
    Site("slurm"): ("slurm-intake-key-of-thirty-two-ch", "slurm-intake-key-that-comes-next-"),
    Site("k8s"): ("kubernetes-intake-key-of-32-chars",),
}
PROJECT = UUID("00000000-0000-4000-8000-000000000302")
PROJECT_REF = ProviderProjectRef("00000000-0000-4000-8000-000000000310")


@dataclass(slots=True)
class Projects:
    """`ProjectBindings` as a table; `error` makes it unavailable, `before` runs inside each lookup."""

    known: dict[ProviderProjectRef, UUID] = field(default_factory=lambda: {PROJECT_REF: PROJECT})
    error: Exception | None = None
    before: Callable[[], None] = lambda: None
    asked: list[set[str]] = field(default_factory=list)

    def resolve(self, instance: WaldurInstance, refs: Any) -> dict[ProviderProjectRef, UUID | None]:
        assert instance == INSTANCE
        self.asked.append(set(refs))
        self.before()
        if self.error is not None:
            raise self.error
        return {ref: self.known.get(ref) for ref in refs}


@dataclass(slots=True)
class Clock:
    """The intake's clock."""

    now: datetime = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, slots=True)
class Agent:
    """A Site's agent."""

    app: Flask
    site: str = "slurm"
    key: str = KEYS[Site("slurm")][0]

    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.key}",
            "Pharos-Schema": "1-1",
            "Content-Type": "application/json",
        }

    def post(self, body: dict[str, Any]) -> TestResponse:
        return self.app.test_client().post(
            f"/resource-provisioning/{self.site}/reports", data=canonical(body), headers=self.headers()
        )

    def report(self, observed_at: str, *resources: dict[str, Any], report_id: UUID | None = None) -> Any:
        """The outcomes of a report that must be taken."""
        answer = self.post(report_body(observed_at, *resources, report_id=report_id))
        assert answer.status_code == 200, answer.text
        return answer.get_json()["outcomes"]

    def allocation(self, allocation_id: str) -> TestResponse:
        return self.app.test_client().get(
            f"/resource-provisioning/{self.site}/allocations/{allocation_id}", headers=self.headers()
        )


def report_body(
    observed_at: str, *resources: dict[str, Any], report_id: UUID | None = None
) -> dict[str, Any]:
    """A report's body."""
    return {
        "schema": 1,
        "reportId": str(report_id or uuid4()),
        "observedAt": observed_at,
        "resources": list(resources),
    }


LIMITS = {"cpu": 144000, "gpu.gh200": 2, "memory": 515396075520}


def resource(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A ready resource of a known Project."""
    return {
        "resourceId": f"00000000-0000-4000-8000-{number:012}",
        "offeringId": "00000000-0000-4000-8000-000000000306",
        "providerProjectRef": PROJECT_REF,
        "nativeName": f"p1-alloc{number}",
        "state": "ok",
        "paused": False,
        "configured": LIMITS,
        "applied": LIMITS,
        "used": {"cpu": 72000},
    } | changes


def told(outcomes: list[dict[str, Any]]) -> list[tuple[str, int | None]]:
    """Outcome and revision of each resource."""
    return [(outcome["outcome"], outcome["revision"]) for outcome in outcomes]


@pytest.fixture
def name(database_name: str) -> str:
    """A migrated database of this test alone."""
    return database_name


@pytest.fixture
def intake_database(pg_server: PgServer, name: str) -> Iterator[Database]:
    """It, as the owner process."""
    with Database(DatabaseOptions(pg_server.role_url(ROLE, name), pool_size=8)) as opened:
        yield opened


@pytest.fixture
def admin(pg_server: PgServer, name: str) -> Iterator[Database]:
    """It, as superuser: to look and to break things."""
    with Database(DatabaseOptions(pg_server.admin_url(name))) as opened:
        yield opened


@pytest.fixture
def projects() -> Projects:
    return Projects()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(intake_database: Database, projects: Projects, clock: Clock) -> Flask:
    return build_app(intake_database, Intake(KEYS, INSTANCE, projects, clock=clock))


@pytest.fixture
def agent(app: Flask) -> Agent:
    return Agent(app)
