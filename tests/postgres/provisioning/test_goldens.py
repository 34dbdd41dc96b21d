"""The intake against the golden files: bytes in, bytes out, every refusal with its code (P11, P12, X10)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from uuid import UUID

import msgspec
import pytest
from flask import Flask

from central.kernel.site_names import Site
from central.provisioning.entrypoints.reports import ReportReader
from central.provisioning.entrypoints.wire import ReportBody
from tests.contract.goldens import Refused, Valid, canonical, load
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, Agent

REPORT = load("allocation-report")
KEY = KEYS[Site("slurm")][0]


def sent(app: Flask, request: dict[str, Any], body: bytes) -> Any:
    """The answer to a golden's request."""
    headers = {name: value.replace("$INTAKE", f"Bearer {KEY}") for name, value in request["headers"].items()}
    environ = {"RAW_URI": request["path"], "REQUEST_URI": request["path"]}
    return app.test_client().open(
        request["path"], method=request["method"], data=body, headers=headers, environ_overrides=environ
    )


@pytest.mark.parametrize("case", REPORT.valid, ids=lambda case: case.name)
def test_valid_reports_are_taken_and_answered_in_the_wires_bytes(app: Flask, case: Valid) -> None:
    answer = sent(app, case.request, case.canonical)
    assert answer.status_code == 200, answer.text
    told = answer.get_json()
    assert answer.data == canonical(told)
    assert told["receivedAt"] == "2026-11-02T10:00:30Z"
    assert list(told) == ["schema", "reportId", "receivedAt", "outcomes"]
    assert [o["resourceId"] for o in told["outcomes"]] == [r["resourceId"] for r in case.body["resources"]]


@pytest.mark.parametrize("case", REPORT.valid, ids=lambda case: case.name)
def test_valid_reports_are_emitted_again_byte_for_byte(case: Valid) -> None:
    body = msgspec.json.decode(case.canonical, type=ReportBody)
    assert msgspec.json.Encoder(order="deterministic").encode(body) == case.canonical


@pytest.mark.parametrize("case", REPORT.refused, ids=lambda case: case.name)
def test_refused_reports(app: Flask, case: Refused) -> None:
    answer = sent(app, case.request, case.raw)
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code)
    assert answer.mimetype == "application/problem+json"


def test_outcomes_have_the_goldens_form(agent: Agent) -> None:
    """Each outcome that the golden shows is reached and looks the same."""
    golden = {o["outcome"]: o for o in load("allocation-report-outcomes").valid[1].body["outcomes"]}
    said = REPORT.valid[0].body["resources"][0]
    reports = {
        "changed": ("10:00:01", said, "slurm"),
        "seen": ("10:00:03", said, "slurm"),
        "unchanged": ("10:00:03", said, "slurm"),
        "stale_report": ("10:00:02", said, "slurm"),
        "conflicting_report": ("10:00:03", {**said, "paused": True}, "slurm"),
        "refused": ("10:00:04", said, "k8s"),
    }
    assert set(golden) == set(reports)
    for outcome, (time, resource, site) in reports.items():
        reporter = Agent(agent.app, site, KEYS[Site(site)][0])
        (told,) = reporter.report(f"2026-11-02T{time}Z", resource)
        assert told["outcome"] == outcome
        assert list(told) == list(golden[outcome])
        assert [type(v) for v in told.values()][3:] == [type(v) for v in golden[outcome].values()][3:]


def test_an_allocation_has_the_goldens_form(agent: Agent) -> None:
    golden = {case.name: case.body for case in load("site-allocation").valid}
    said = REPORT.valid[0].body["resources"][0]
    allocation = agent.report("2026-11-02T10:00:01.250000Z", said)[0]["allocationId"]
    agent.report("2026-11-02T10:00:20Z", said)
    answer = agent.allocation(allocation)
    expected = golden["ready"] | {"allocationId": allocation, "revision": 1}
    assert answer.data == canonical(expected)


def test_content_is_that_of_the_canonical_form() -> None:
    """Capitals in UUIDs and the order of amounts say nothing (wire rules 5 and 7)."""
    said, other = deepcopy(REPORT.valid[0].body), deepcopy(REPORT.valid[0].body)
    resource = other["resources"][0]
    for name in ("resourceId", "offeringId", "providerProjectRef"):
        resource[name] = "abcdef" + resource[name][6:]
        said["resources"][0][name] = resource[name].upper()
    resource["configured"] = dict(reversed(resource["configured"].items()))
    reports = [
        ReportReader(INSTANCE).read(
            msgspec.json.decode(msgspec.json.encode(body), type=ReportBody), Site("slurm")
        )
        for body in (said, other)
    ]
    assert reports[0].contents == reports[1].contents
    assert reports[0].allocation_ids == reports[1].allocation_ids
    assert reports[0].observation(0) == reports[1].observation(0)
    assert UUID(reports[0].allocation_ids[0]).version == 5
