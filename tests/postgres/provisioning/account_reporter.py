"""A Site's agent that reports sets of accounts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from flask import Flask

from central.kernel.site_names import Site
from central.provisioning.domain.ids import AllocationId
from tests.contract.goldens import canonical
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.conftest import KEYS, Agent, resource

PARTY, OTHER = UUID(int=0x301), UUID(int=0x309)
BINDING = UUID(int=0x304)
LIMIT = timedelta(seconds=900)


def at(second: int) -> str:
    return f"2026-11-02T10:00:{second:02}Z"


def account(uid: str = "uuid-1/42", **changes: Any) -> dict[str, Any]:
    """A ready account."""
    return {
        "partyId": str(PARTY),
        "name": "u1",
        "nativeUid": uid,
        "uidNumber": 5000001,
        "bindingId": str(BINDING),
        "generation": 1,
        "state": "ready",
    } | changes


@dataclass(frozen=True, slots=True)
class Reporter:
    """An agent that reports the accounts of one allocation."""

    agent: Agent
    allocation: AllocationId
    url: str

    def post(self, time: str, *accounts: dict[str, Any], report_id: UUID | None = None) -> Any:
        body = {
            "schema": 1,
            "reportId": str(report_id or uuid4()),
            "observedAt": time,
            "allocationId": str(self.allocation),
            "accounts": list(accounts),
        }
        path = f"/resource-provisioning/{self.agent.site}/accounts"
        return self.agent.app.test_client().post(path, data=canonical(body), headers=self.agent.headers())

    def told(self, time: str, *accounts: dict[str, Any], report_id: UUID | None = None) -> str:
        """Outcome or code."""
        answer = self.post(time, *accounts, report_id=report_id).get_json()
        return str(answer.get("outcome") or answer["code"])

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def present(self) -> list[tuple[Any, ...]]:
        return self.rows(
            "SELECT native_uid, generation, state FROM provisioning.accounts ORDER BY native_uid, generation"
        )


@pytest.fixture
def reporter(agent: Agent, pg_server: PgServer, name: str) -> Reporter:
    allocation = agent.report(at(0), resource())[0]["allocationId"]
    return Reporter(agent, AllocationId(UUID(allocation)), pg_server.admin_url(name))


POOL = [
    account("x/1"),
    account("x/1", state="incomplete"),
    account("x/1", generation=2),
    account("y/1"),
    account("y/1", name="u2", uidNumber=None),
    account("z/1", partyId=str(UUID(int=7))),
]


def identity(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["partyId"], one["bindingId"], one["generation"], one["nativeUid"]


def content(accounts: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {(*identity(one), one["name"], one["uidNumber"], one["state"]) for one in accounts}


def any_set(chance: random.Random) -> list[dict[str, Any]]:
    """Some of the pool in any order, no native UID twice."""
    chosen = {one["nativeUid"]: one for one in chance.sample(POOL, chance.randint(0, len(POOL)))}
    return chance.sample(list(chosen.values()), len(chosen))


def sent(app: Flask, request: dict[str, Any], body: bytes) -> Any:
    """The answer to a golden's request."""
    keys = {"$INTAKE": KEYS[Site("slurm")][0], "$INTAKE_K8S": KEYS[Site("k8s")][0]}
    headers = {
        name: f"Bearer {keys[value]}" if value in keys else value
        for name, value in request["headers"].items()
    }
    return app.test_client().open(request["path"], method=request["method"], data=body, headers=headers)
