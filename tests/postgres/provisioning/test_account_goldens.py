"""The account route against the golden files: bytes in, bytes out, every refusal (P21–P23, X10)."""

from __future__ import annotations

import msgspec
import psycopg
import pytest
from flask import Flask

from central.kernel.database import Database
from central.kernel.site_names import Site
from central.processes.provisioning_intake import Intake, build_app
from central.provisioning.entrypoints.account_wire import AccountReceiptBody, AccountReportBody
from tests.contract.goldens import Golden, Refused, Valid, canonical, load
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.account_reporter import sent
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, Clock, Projects

SLURM, K8S, RECEIPT = (
    load("account-report"),
    load("account-report-kubernetes"),
    load("account-report-receipt"),
)
ALLOCATION = SLURM.valid[0].body["allocationId"]
VALID = [(golden, case) for golden in (SLURM, K8S) for case in golden.valid]
AFTER_A_SAVED_SET = {"older_than_the_saved_one", "equal_time_other_content"}


@pytest.fixture
def app(intake_database: Database, projects: Projects, clock: Clock, pg_server: PgServer, name: str) -> Flask:
    """The intake of a Slurm and a Kubernetes Site; the goldens' allocation is the former's."""
    allocate(pg_server, name, "slurm")
    intake = Intake(KEYS, INSTANCE, projects, kubernetes=(Site("k8s"),), clock=clock)
    return build_app(intake_database, intake)


def allocate(server: PgServer, name: str, site: str) -> None:
    """The goldens' allocation, which no report of a resource can name, becomes the Site's."""
    with psycopg.connect(server.admin_url(name), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO provisioning.allocation_sightings VALUES (%s, %s, NULL, 1, 1, 'l', %s, now())"
            " ON CONFLICT (allocation_id) DO UPDATE SET site = excluded.site",
            (ALLOCATION, site, ALLOCATION),
        )


@pytest.mark.parametrize(("golden", "case"), VALID, ids=lambda one: one.name)
def test_valid_sets_are_taken_and_answered_in_the_wires_bytes(
    app: Flask, pg_server: PgServer, name: str, golden: Golden, case: Valid
) -> None:
    if golden is K8S:
        allocate(pg_server, name, "k8s")
    answer = sent(app, case.request, case.canonical)
    assert answer.status_code == 200, answer.text
    receipt = {one.name: one.body for one in RECEIPT.valid}["recorded"]
    assert answer.data == canonical(receipt | {"accounts": len(case.body["accounts"])})


@pytest.mark.parametrize(("golden", "case"), VALID, ids=lambda one: one.name)
def test_valid_sets_are_emitted_again_byte_for_byte(golden: Golden, case: Valid) -> None:
    body = msgspec.json.decode(case.canonical, type=AccountReportBody)
    assert golden.schema == body.schema
    assert msgspec.json.Encoder(order="deterministic").encode(body) == case.canonical


def saved(server: PgServer, name: str) -> list[int]:
    """How many rows each table of accounts holds."""
    tables = ("account_sets", "accounts", "account_reports")
    with psycopg.connect(server.admin_url(name)) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM provisioning.{table}".encode()).fetchone()
            for table in tables
        ]
    return [row[0] for row in counts if row is not None]


def refused(app: Flask, case: Refused) -> None:
    answer = sent(app, case.request, case.raw)
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code), case.name
    assert answer.mimetype == "application/problem+json", case.name


def test_refused_sets_leave_nothing(app: Flask, pg_server: PgServer, name: str) -> None:
    for case in SLURM.refused:
        if case.name not in AFTER_A_SAVED_SET:
            refused(app, case)
    allocate(pg_server, name, "k8s")
    for case in K8S.refused:
        refused(app, case)
    assert saved(pg_server, name) == [0, 0, 0]


def test_refused_sets_after_a_saved_one_change_nothing(app: Flask, pg_server: PgServer, name: str) -> None:
    assert sent(app, SLURM.valid[0].request, SLURM.valid[0].canonical).status_code == 200
    cases = [case for case in SLURM.refused if case.name in AFTER_A_SAVED_SET]
    assert len(cases) == len(AFTER_A_SAVED_SET)
    for case in cases:
        refused(app, case)
    assert saved(pg_server, name) == [1, 1, 1]


def test_both_receipts_are_the_goldens(app: Flask) -> None:
    case = SLURM.valid[0]
    golden = {one.name: one.canonical for one in RECEIPT.valid}
    assert sent(app, case.request, case.canonical).data == golden["recorded"]
    again = case.body | {"reportId": "00000000-0000-4000-8000-000000000503"}
    answer = sent(app, case.request, canonical(again)).data
    assert answer == golden["unchanged"].replace(b"000000000502", b"000000000503")
    for body in golden.values():
        read = msgspec.json.decode(body, type=AccountReceiptBody)
        assert msgspec.json.Encoder(order="deterministic").encode(read) == body
