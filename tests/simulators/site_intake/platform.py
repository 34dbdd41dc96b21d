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

from tests.contract.published_schemas import refuses, schemas
from tests.simulators.site_api.checks import Problem, parse_json, parse_time

# Written out: the stand-in is the other end, and must not learn the id from the one under test.
NAMESPACE = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")
MAX_BYTES = {"reports": 1024 * 1024, "account-sets": 1024 * 1024, "accounts": 8 * 1024 * 1024}
MAX_REFS, MEMBERS_AT_ONCE = 1000, 1000
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
    malformed: set[str] = field(default_factory=set)
    names_refused: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    members_at_once: int = MEMBERS_AT_ONCE
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

    def members_of(self, raw: bytes, now: datetime) -> Body:
        """The members of the first of many Projects, as many as have `members_at_once` together."""
        if self.members_down:
            raise Problem(503, "unavailable")
        body = parse_json(raw)
        if len(body.get("providerProjectRefs", ())) > MAX_REFS:
            raise Problem(413, "body_too_large")
        if refuses(schemas()["project-members-request"], body):
            raise Problem(400, "body_invalid")
        told: list[Body] = []
        members = 0
        for ref in body["providerProjectRefs"]:
            one = self._one_project(ref)
            members += one["count"]
            if told and members > self.members_at_once:
                break
            told.append(one)
        return {"schema": 1, "asOf": shown(now), "projects": told}

    def _one_project(self, ref: str) -> Body:
        code = "unavailable" if ref in self.untold else None if ref in self.projects else "project_unknown"
        project, rows = (None, []) if code else self.projects[ref]
        ordered = sorted(rows, key=lambda row: (row["username"], row["bindingId"]))
        return {
            "providerProjectRef": ref, "projectId": project, "code": code, "count": len(ordered),
            "members": ordered,
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
        if kind == "account-sets" and len(body.get("sets", ())) > self.largest:
            raise Problem(413, "body_too_large")
        golden = {
            "reports": "allocation-report", "account-sets": "account-sets", "accounts": "account-report",
        }[kind]  # fmt: skip
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
        decide = {"reports": self._resources, "account-sets": self._account_sets, "accounts": self._accounts}
        answer = decide[kind](body, observed_at, now)
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

    def _account_sets(self, body: Body, observed_at: datetime, now: datetime) -> Body:
        ids = [item["allocationId"] for item in body["sets"]]
        if len(set(ids)) != len(ids):
            raise Problem(400, "body_invalid")
        known = {self.allocation(name) for name in self.resources}
        outcomes = []
        for item in body["sets"]:
            outcome, code = "refused", None
            try:
                outcome = self._set(item["allocationId"], item["accounts"], observed_at, known)
            except Problem as problem:
                if problem.status == 400:
                    raise
                code = problem.code if problem.status == 422 else None
                outcome = "refused" if code else problem.code
            outcomes.append({"allocationId": item["allocationId"], "outcome": outcome, "code": code})
        report = body["reportId"]
        return {"schema": 1, "reportId": report, "receivedAt": shown(now), "outcomes": outcomes}

    def _accounts(self, body: Body, observed_at: datetime, now: datetime) -> Body:
        known = {self.allocation(name) for name in self.resources}
        outcome = self._set(body["allocationId"], body["accounts"], observed_at, known)
        return {
            "schema": 1, "reportId": body["reportId"], "allocationId": body["allocationId"],
            "outcome": outcome, "accounts": len(body["accounts"]), "receivedAt": shown(now),
        }  # fmt: skip

    def _set(self, allocation: str, rows: list[Body], observed_at: datetime, known: set[str]) -> str:
        if allocation in self.malformed:
            raise Problem(400, "body_invalid")
        if allocation in self.names_refused:
            raise Problem(422, "account_name_invalid")
        if allocation not in known:
            raise Problem(422, "allocation_unknown")
        if len({row["nativeUid"] for row in rows}) != len(rows):
            raise Problem(400, "body_invalid")
        before = self.accounts.get(allocation)
        if before is not None and observed_at < before[0]:
            raise Problem(409, "stale_report")
        if before is not None and observed_at == before[0] and rows != before[1]:
            raise Problem(409, "conflicting_report")
        outcome = "unchanged" if before is not None and before[1] == rows else "recorded"
        self.accounts[allocation] = (observed_at, rows)
        return outcome
