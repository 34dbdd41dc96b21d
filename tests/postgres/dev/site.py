"""What a Site's agent says and asks at the development stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import urllib3

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.provisioning.conftest import PROJECT_REF, report_body, resource

ENTRY = "5f1c9a30-0000-1040-8000-000000000001"


class Site:
    """The agent of slurm at the stack's intake."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.url = f"{document['intake']['url']}/resource-provisioning/slurm"
        key = Path(document["intake"]["keyFiles"]["slurm"]).read_text().strip()
        self.headers = {"Authorization": f"Bearer {key}", "Pharos-Schema": "1-1"}

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        answer = urllib3.request(
            "POST" if body else "GET", f"{self.url}/{path}", json=body, headers=self.headers, timeout=120
        )
        return answer.status, json.loads(answer.data)

    def members(self) -> Any:
        """Username → generation and state; the code of a refusal."""
        status, body = self.ask(f"members?providerProjectRef={PROJECT_REF}")
        if status != 200:
            return body["code"]
        return {row["username"]: (row["generation"], row["state"]) for row in body["members"]}

    def allocation(self) -> str:
        """Reports one; its id."""
        status, body = self.ask("reports", report_body(format_rfc3339(utc_now()), resource()))
        assert status == 200, body
        return str(body["outcomes"][0]["allocationId"])

    def accounts(self, allocation: str) -> None:
        """Reports an account for each active member, as the list has them."""
        _, listed = self.ask(f"members?providerProjectRef={PROJECT_REF}")
        accounts = [
            {
                "partyId": row["partyId"],
                "name": row["username"],
                "nativeUid": f"{ENTRY}/42",
                "uidNumber": 5000001,
                "bindingId": row["bindingId"],
                "generation": row["generation"],
                "state": "ready",
            }
            for row in listed["members"]
            if row["state"] == "active"
        ]
        report = {"schema": 1, "reportId": str(uuid4()), "observedAt": format_rfc3339(utc_now())}
        status, body = self.ask("accounts", report | {"allocationId": allocation, "accounts": accounts})
        assert status == 200, body


def bound(site: Site, project: str) -> bool:
    """Reports once more; whether the allocation is the Project's by then."""
    _, saved = site.ask(f"allocations/{site.allocation()}")
    return bool(saved["projectId"] == str(UUID(project)))
