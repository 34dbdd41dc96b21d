"""Who may report, how much at once, and what is refused before the database is reached (P11, P12)."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from flask import Flask

from central.kernel.database import Database
from central.kernel.observability import configure_logging
from central.kernel.site_names import Site
from central.processes.provisioning_intake import Intake, build_app
from tests.contract.goldens import canonical
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    KEYS,
    Agent,
    Projects,
    report_body,
    resource,
    told,
)

T1 = "2026-11-02T10:00:01Z"
PATH = "/resource-provisioning/slurm/reports"
OLD, NEW = KEYS[Site("slurm")]
OTHER = KEYS[Site("k8s")][0]


def code(answer: Any) -> tuple[int, str]:
    """Status and code of a refusal."""
    assert answer.mimetype == "application/problem+json"
    return answer.status_code, answer.get_json()["code"]


def post(app: Flask, path: str, key: str, body: bytes = b"{}", **headers: str) -> Any:
    sent = {
        "Authorization": f"Bearer {key}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    environ = {"RAW_URI": path, "REQUEST_URI": path}
    return app.test_client().post(path, data=body, headers=sent, environ_overrides=environ)


def test_both_keys_of_a_site_are_valid_while_they_change_over(app: Flask) -> None:
    assert told(Agent(app, key=OLD).report(T1, resource())) == [("changed", 1)]
    assert told(Agent(app, key=NEW).report(T1, resource())) == [("unchanged", 1)]


def test_another_sites_path_answers_as_if_absent(app: Flask) -> None:
    absent = post(app, "/resource-provisioning/icarus/reports", OTHER)
    another = post(app, PATH, OTHER)
    assert code(another) == code(absent) == (404, "not_found")
    assert another.get_json()["detail"] == absent.get_json()["detail"]
    assert code(post(app, PATH, "x" * 32)) == (401, "unauthenticated")


def test_nothing_is_mounted_for_a_site_without_a_key(intake_database: Database, projects: Projects) -> None:
    keys = {Site("slurm"): (OLD,)}
    app = build_app(intake_database, Intake(keys, INSTANCE, projects))
    rules = [rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/resource-provisioning")]
    assert sorted(rules) == [
        "/resource-provisioning/slurm/account-sets",
        "/resource-provisioning/slurm/accounts",
        "/resource-provisioning/slurm/allocations/<allocation>",
        "/resource-provisioning/slurm/reports",
    ]
    assert code(post(app, "/resource-provisioning/k8s/reports", OLD)) == (404, "not_found")


def test_another_sites_allocation_is_absent(agent: Agent) -> None:
    allocation = agent.report(T1, resource())[0]["allocationId"]
    other = Agent(agent.app, "k8s", OTHER)
    for asked in (
        allocation,
        "00000000-0000-4000-8000-000000000000",
        "nonsense",
        allocation.replace("-", ""),
    ):
        assert code(other.allocation(asked)) == (404, "not_found")
    assert agent.allocation(allocation.upper()).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "//resource-provisioning/slurm/reports",
        "/resource-provisioning/k8s%2F..%2Fslurm/reports",
        "/resource-provisioning/k8s/%2e%2e/slurm/reports",
        "/resource-provisioning/slurm/reports/",
    ],
)
def test_path_tricks_e19(app: Flask, path: str) -> None:
    assert code(post(app, path, OTHER)) == (404, "not_found")


def test_nul_in_the_path_e01(agent: Agent) -> None:
    assert code(agent.allocation("a%00b")) == (400, "request_malformed")


@pytest.mark.parametrize("query", ["?token=k1-in-the-query", "?%74oken=k1-in-the-query"])
def test_a_key_in_the_query_e18(app: Flask, query: str) -> None:
    lines = io.StringIO()
    kept = logging.getLogger().handlers[:]
    configure_logging("test", stream=lines)
    try:
        refused = app.test_client().post(PATH + query, data=b"{}")
        unknown = post(app, PATH + query, OLD)
    finally:
        logging.getLogger().handlers[:] = kept
    assert code(refused) == (401, "unauthenticated")
    assert code(unknown) == (400, "query_invalid")
    assert "k1-in-the-query" not in lines.getvalue() + refused.text + unknown.text
    assert OLD not in lines.getvalue() + unknown.text


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, (400, "request_malformed")),
        ("2-3", (406, "schema_unsupported")),
        ("1", (400, "request_malformed")),
    ],
)
def test_the_schema_range_is_asked_for(app: Flask, header: str | None, expected: tuple[int, str]) -> None:
    headers = {"Authorization": f"Bearer {OLD}", "Content-Type": "application/json"}
    if header is not None:
        headers["Pharos-Schema"] = header
    assert code(app.test_client().post(PATH, data=b"{}", headers=headers)) == expected


def test_encodings_are_refused_before_the_credential_e08(app: Flask) -> None:
    assert code(post(app, PATH, "wrong", Content_Encoding="gzip")) == (415, "content_encoding_refused")
    assert code(post(app, PATH, OLD, Content_Type="text/plain")) == (415, "media_type_refused")  # E08


def test_the_caps_are_named_p12(agent: Agent) -> None:
    thousand = [resource(n) for n in range(1, 1002)]
    answer = agent.post(report_body(T1, *thousand))
    assert code(answer) == (413, "body_too_large")
    assert "1000" in answer.get_json()["detail"]
    taken = agent.post(report_body(T1, *thousand[:1000]))
    assert taken.status_code == 200
    assert {o["outcome"] for o in taken.get_json()["outcomes"]} == {"changed"}
    big = canonical(report_body(T1, *thousand[:1000])) + b" " * 1_048_576
    answer = post(agent.app, PATH, OLD, big)
    assert code(answer) == (413, "body_too_large")
    assert "1048576" in answer.get_json()["detail"]


@pytest.mark.parametrize(
    "value",
    [
        "NaN", "Infinity", "-Infinity", "1e400", "16000.0", '"16000"', "true", "1.6e4", "-1",
        "9223372036854775808", "1" * 5000,
    ],
)  # fmt: skip
def test_numbers_that_are_no_amounts_d09_d10_d11_d12(agent: Agent, value: str) -> None:
    body = json.dumps(report_body(T1, resource(configured={"cpu": "HERE"}))).replace('"HERE"', value)
    answer = post(agent.app, PATH, OLD, body.encode())
    assert answer.status_code == 400
    assert answer.get_json()["code"] in {"body_invalid", "json_malformed", "json_bad_number"}
    if answer.get_json()["code"] == "body_invalid":
        assert answer.get_json()["errors"][0]["pointer"].startswith("/resources/0/configured")


def test_integers_above_2_53_come_back_unchanged_d08(agent: Agent) -> None:
    exact = {"memory": 9007199254740993, "storage": 2**63 - 1}
    allocation = agent.report(T1, resource(configured=exact, applied=exact))[0]["allocationId"]
    assert agent.allocation(allocation).get_json()["configured"] == exact


@pytest.mark.parametrize(
    "time",
    [
        "20261102T100001Z", "2026-W45-1T00:00Z", "2026-11-02", "2026-11-02T10:00:01,5Z",
        "2026-11-02T10:00:01", "2026-11-02T10:00:01+00:00:30", "2026-11-02T10:00:60Z",
        "infinity", "today", "2026-11-02T24:00:00Z",
        "2026-11-02T10:00:01.1234567Z", "2026-11-02T10:00:01Z\n",
    ],
)  # fmt: skip
def test_times_that_are_no_times_e09_e11_e12_f12(agent: Agent, time: str) -> None:
    assert code(agent.post(report_body(time, resource()))) == (400, "time_invalid")


def test_the_same_instant_in_another_zone_e12(agent: Agent) -> None:
    agent.report("2026-11-02T10:00:01.123456Z", resource())
    assert told(agent.report("2026-11-02T10:00:01.123456+00:00", resource())) == [("unchanged", 1)]


@pytest.mark.parametrize(
    ("ahead", "status"),
    [("10:00:34Z", 200), ("10:00:35Z", 200), ("10:00:35.000001Z", 422), ("11:00:30Z", 422)],
)
def test_clocks_ahead_e13(agent: Agent, ahead: str, status: int) -> None:
    answer = agent.post(report_body(f"2026-11-02T{ahead}", resource()))
    assert answer.status_code == status
    if status == 422:
        assert code(answer) == (422, "observed_in_future")
        assert told(agent.report(T1, resource())) == [("changed", 1)]


def test_a_clock_behind_can_be_told_e14(agent: Agent) -> None:
    answer = agent.post(report_body("2026-11-02T09:44:30Z", resource()))
    assert answer.get_json()["receivedAt"] == "2026-11-02T10:00:30Z"
    metrics = agent.app.test_client().get("/metrics").text
    assert 'pharos_intake_report_age_seconds{site="slurm"} 960.0' in metrics


@pytest.mark.parametrize(
    "raw",
    [b'{"a":"\xff"}', b'{"a":"\\ud800"}', b'{"schema":1,"schema":1}', b'{"a":"\\u0000"}', b"[]", b""],
)
def test_json_that_is_refused_e01_e02_e03_e04(agent: Agent, raw: bytes) -> None:
    answer = post(agent.app, PATH, OLD, raw)
    assert answer.status_code == 400
    assert answer.get_json()["code"].startswith("json_")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nativeName", "p1\n"), ("nativeName", ""), ("nativeName", "x" * 129), ("providerProjectRef", ""),
        ("providerProjectRef", "a\tb"), ("offeringId", "306"), ("resourceId", "{" + "0" * 36),
        ("resourceId", "00000000000040008000000000000305"), ("state", "OK"), ("paused", 0),
        ("configured", {"gpu.": 1}), ("used", {"node": 1}), ("applied", {"gpu.a b": 1}),
    ],
)  # fmt: skip
def test_texts_outside_their_grammar_e21(agent: Agent, field: str, value: object) -> None:
    answer = agent.post(report_body(T1, resource(1), resource(2, **{field: value})))
    assert code(answer) == (400, "body_invalid")
    assert answer.get_json()["errors"][0]["pointer"].startswith(f"/resources/1/{field}")
    assert told(agent.report(T1, resource(1))) == [("changed", 1)]


def test_outcomes_are_counted_and_logged(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "central.provisioning"):
        agent.report(T1, resource(1), resource(2))
    fields = [record.pharos_fields for record in caplog.records if record.message == "report"]  # type: ignore[attr-defined]
    assert fields == [{"site": "slurm", "resources": 2, "outcomes": {"changed": 2}}]
    metrics = agent.app.test_client().get("/metrics").text
    assert 'pharos_intake_outcomes_total{outcome="changed",site="slurm"} 2.0' in metrics
