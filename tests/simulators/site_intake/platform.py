"""What the stand-in knows and has been told: Projects with their members, retained accounts, reports.

Reports are judged by docs/wire.md and by the published schema of their body.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from tests.contract.test_schemas import refuses, schemas
from tests.simulators.site_api.checks import Problem, parse_json, parse_time

# Written out: the stand-in is the other end, and must not learn the id from the one under test.
NAMESPACE = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")
MAX_BYTES = {"reports": 1024 * 1024, "accounts": 8 * 1024 * 1024}
AHEAD = timedelta(seconds=5)
Body = dict[str, Any]


def shown(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


@dataclass
class Platform:
    """`projects`: provider Project (dashed) → Beto's id and member rows. `retained` None: 503."""

    site: str = "slurm"
    instance: str = "waldur.example"
    projects: dict[str, tuple[str, list[Body]]] = field(default_factory=dict)
    retained: list[Body] | None = field(default_factory=list)
    members_down: bool = False
    largest: int = 1000
    resources: dict[str, tuple[datetime, Body]] = field(default_factory=dict)
    accounts: dict[str, tuple[datetime, list[Body]]] = field(default_factory=dict)
    receipts: dict[str, tuple[bytes, Body]] = field(default_factory=dict)
    arrived: list[tuple[str, bytes]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def allocation(self, resource: str) -> str:
        return str(uuid5(NAMESPACE, f"{self.instance}/{resource}"))

    def of(self, resource: str) -> list[Body] | None:
        """The saved accounts of a resource; None before the first report."""
        found = self.accounts.get(self.allocation(resource))
        return found[1] if found else None

    # Reads.

    def members(self, ref: str, now: datetime) -> Body:
        if self.members_down:
            raise Problem(503, "unavailable")
        if ref not in self.projects:
            raise Problem(404, "project_unknown")
        project, rows = self.projects[ref]
        ordered = sorted(rows, key=lambda row: (row["username"], row["bindingId"]))
        return {
            "schema": 1, "projectId": project, "asOf": shown(now), "count": len(rows), "members": ordered,
        }  # fmt: skip

    def kept(self, now: datetime) -> Body:
        if self.retained is None:
            raise Problem(503, "recovery_pending")
        keys = ("projectId", "partyId", "bindingId", "generation", "username")
        rows = sorted(self.retained, key=lambda row: [row[key] for key in keys])
        count = len(rows)
        return {"schema": 1, "site": self.site, "asOf": shown(now), "count": count, "accounts": rows}

    # Reports.

    def take(self, kind: str, raw: bytes, now: datetime) -> Body:
        with self.lock:
            self.arrived.append((kind, raw))
            try:
                return self._take(kind, raw, now)
            except Problem as problem:
                self.refused[problem.code] += 1
                raise

    def _take(self, kind: str, raw: bytes, now: datetime) -> Body:
        if len(raw) > MAX_BYTES[kind]:
            raise Problem(413, "body_too_large")
        body = parse_json(raw)
        if kind == "reports" and len(body.get("resources", ())) > self.largest:
            raise Problem(413, "body_too_large")
        golden = {"reports": "allocation-report", "accounts": "account-report"}[kind]
        if refuses(schemas()[golden], body):
            raise Problem(400, "body_invalid")
        observed_at = parse_time(body["observedAt"])
        if observed_at > now + AHEAD:
            raise Problem(422, "observed_in_future")
        known = self.receipts.get(body["reportId"])
        if known is not None:
            if known[0] != raw:
                raise Problem(409, "command_reused")
            return known[1]
        decide = self._resources if kind == "reports" else self._accounts
        answer = decide(body, observed_at, now)
        self.receipts[body["reportId"]] = (raw, answer)
        return answer

    def _resources(self, body: Body, observed_at: datetime, now: datetime) -> Body:
        ids = [item["resourceId"] for item in body["resources"]]
        if len(set(ids)) != len(ids):
            raise Problem(400, "body_invalid")
        outcomes = [self._resource(item, observed_at) for item in body["resources"]]
        report = body["reportId"]
        return {"schema": 1, "reportId": report, "receivedAt": shown(now), "outcomes": outcomes}

    def _resource(self, item: Body, observed_at: datetime) -> Body:
        name = item["resourceId"]
        before = self.resources.get(name)
        outcome = "changed"
        if before is not None:
            if observed_at < before[0]:
                outcome = "stale_report"
            elif observed_at == before[0]:
                outcome = "unchanged" if item == before[1] else "conflicting_report"
            elif item == before[1]:
                outcome = "seen"
        if outcome in {"changed", "seen"}:
            self.resources[name] = (observed_at, item)
        return {
            "resourceId": name, "allocationId": self.allocation(name), "outcome": outcome, "revision": 1,
            "code": None,
        }  # fmt: skip

    def _accounts(self, body: Body, observed_at: datetime, now: datetime) -> Body:
        allocation = body["allocationId"]
        if allocation not in {self.allocation(name) for name in self.resources}:
            raise Problem(422, "allocation_unknown")
        rows = body["accounts"]
        if len({row["nativeUid"] for row in rows}) != len(rows):
            raise Problem(400, "body_invalid")
        before = self.accounts.get(allocation)
        if before is not None and observed_at < before[0]:
            raise Problem(409, "stale_report")
        if before is not None and observed_at == before[0] and rows != before[1]:
            raise Problem(409, "conflicting_report")
        outcome = "unchanged" if before is not None and before[1] == rows else "recorded"
        self.accounts[allocation] = (observed_at, rows)
        return {
            "schema": 1, "reportId": body["reportId"], "allocationId": allocation, "outcome": outcome,
            "accounts": len(rows), "receivedAt": shown(now),
        }  # fmt: skip
