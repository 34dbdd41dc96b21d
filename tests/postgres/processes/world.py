"""Beto, a Site and a member beside the real processes, for tests of what comes of them (P30, O1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import urllib3

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.processes.rig import OWNER, Programs, beto_at, issuer, ports
from tests.postgres.provisioning.conftest import PROJECT_REF, report_body, resource
from tests.postgres.ssh_access.conftest import add_body
from tests.simulators.beto.beto import Beto, ready_for
from tests.simulators.beto.truth import WALDUR

KEY = "eligibility-intake-key-of-32-char"
ENTRY = "5f1c9a30-0000-1040-8000-000000000001"
OLD = timedelta(minutes=16)


@dataclass(slots=True)
class World:
    """Beto, a Site and a member, at running processes."""

    programs: Programs
    beto: Beto
    tell: Any
    member_api: int
    intake: int
    issuer: Any
    party: str
    project: str
    binding: str

    def told(self, *changes: Any) -> None:
        """Beto's changes, with its authority over what the Project is then."""
        ready = self.beto.truth.set_authority(self.project, "ready", ready_for(self.beto.clock))
        self.tell(*changes, ready)

    def site(self, path: str, body: Any = None) -> tuple[int, Any]:
        """What the Site's agent says or asks."""
        url = f"http://127.0.0.1:{self.intake}/resource-provisioning/slurm/{path}"
        headers = {"Authorization": f"Bearer {KEY}", "Pharos-Schema": "1-1"}
        answer = urllib3.request("POST" if body else "GET", url, json=body, headers=headers, timeout=120)
        return answer.status, json.loads(answer.data)

    def reports(self, age: timedelta, *, generation: int) -> None:
        """One allocation and the member's account in it, observed `age` ago."""
        at = format_rfc3339(utc_now() - age)
        status, body = self.site("reports", report_body(at, resource()))
        assert status == 200, body
        account = {
            "partyId": self.party,
            "name": "u1",
            "nativeUid": f"{ENTRY}/42",
            "uidNumber": 5000001,
            "bindingId": self.binding,
            "generation": generation,
            "state": "ready",
        }
        allocation = body["outcomes"][0]["allocationId"]
        report = {"schema": 1, "reportId": str(uuid4()), "observedAt": at, "allocationId": allocation}
        status, body = self.site("accounts", report | {"accounts": [account]})
        assert status == 200, body

    def keys(self, method: str, path: str = "", body: Any = None) -> tuple[int, Any, Any]:
        """What the member's program gets: status, body, headers."""
        token = self.issuer(self.party)
        answer = urllib3.request(
            method,
            f"http://127.0.0.1:{self.member_api}/api/v1/me/ssh-keys{path}",
            json=body,
            headers={"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())},
            timeout=120,
        )
        return answer.status, json.loads(answer.data), answer.headers

    def add(self, number: int) -> tuple[int, str]:
        """Status, and the key's state or the refusal's code."""
        status, body, headers = self.keys("POST", body=add_body(number))
        assert (status == 503) == ("Retry-After" in headers)
        return status, body.get("state") or body["code"]


@pytest.fixture
def world(programs: Programs) -> Iterator[World]:
    """Worker, intake and member API beside Beto; a member of a Project, known at slurm as u1."""
    programs.administer()
    worker, intake, member_api = ports(3)
    with ExitStack() as held:
        beto, tell = held.enter_context(beto_at(programs))
        truth = beto.truth
        party, _ = truth.new_party(site="slurm", username="u1")
        project, _ = truth.new_project(PROJECT_REF)
        truth.add_member(project, party)
        truth.set_authority(project, "ready", ready_for(beto.clock))
        held.enter_context(programs.serving(programs.worker(worker), worker, "work", "provisioning"))
        mint, url = held.enter_context(issuer())
        for environment, port, process in (
            (intake_settings(programs, intake), intake, "provisioning-intake"),
            (member_settings(programs, member_api, url), member_api, "member-api"),
        ):
            held.enter_context(programs.serving(environment, port, "serve", process))
        binding = truth.parties[party]["providerBindings"][0]["bindingId"]
        yield World(programs, beto, tell, member_api, intake, mint, party, project, binding)


def intake_settings(programs: Programs, port: int) -> dict[str, str]:
    return programs.owner() | {
        "PHAROS_SITES": "slurm,k8s",
        "PHAROS_PROVISIONING_INTAKE_LISTEN": f"127.0.0.1:{port}",
        "RESOURCE_PROVISIONING_WALDUR_INSTANCE": WALDUR,
        "RESOURCE_PROVISIONING_SLURM_INTAKE_KEY": KEY,
    }


def member_settings(programs: Programs, port: int, issuer_url: str) -> dict[str, str]:
    reader = programs.url(f"{OWNER}_reader")
    return {
        "PHAROS_ENVIRONMENT": "development",
        "PHAROS_SITES": "slurm,k8s",
        "PHAROS_DATABASE_URL_FILE": programs.url("pharos_member_api"),
        "PHAROS_MEMBER_API_LISTEN": f"127.0.0.1:{port}",
        "PHAROS_OIDC_ISSUER": issuer_url,
        "PHAROS_OIDC_AUDIENCE": "pharos",
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": reader,
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": reader,
    }


def member_at_the_site(world: World) -> str:
    """`active`, `retired`, or the code."""
    status, body = world.site(f"members/u1?providerProjectRef={PROJECT_REF}")
    return str(body["state"] if status == 200 else body["code"])
