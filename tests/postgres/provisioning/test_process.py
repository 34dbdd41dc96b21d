"""`pharos-central serve provisioning-intake` as a process: variables, files, a role of its own."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.contract.goldens import canonical
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    PROJECT,
    PROJECT_REF,
    report_body,
    resource,
    told,
)
from tests.postgres.provisioning.intake_process import (
    COMMAND,
    KEY,
    environment,
    seconds_ago,
    serving,
)


@pytest.fixture
def served(pg_server: PgServer, name: str, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """As `serving`."""
    with serving(pg_server, name, tmp_path) as running:
        yield running


def post(port: int, site: str, body: dict[str, Any]) -> tuple[int, bytes]:
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    }
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=NEVER)) as connection:
        connection.request("POST", f"/resource-provisioning/{site}/reports", canonical(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_served_reports_wait_for_the_project_view(
    served: tuple[int, Path], pg_server: PgServer, name: str
) -> None:
    """An unloaded view claims nothing: pending, and said in the log (X1); a loaded one binds (P3)."""
    port, log = served
    observed = seconds_ago(3)
    status, answer = post(port, "slurm", report_body(observed, resource()))
    assert status == 200, answer
    outcomes = json.loads(answer)["outcomes"]
    assert told(outcomes) == [("changed", 1)]
    assert post(port, "k8s", report_body(observed, resource()))[0] == 404
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    events = {line["event"] for line in lines}
    assert {"report", "projects_unresolved", "serving"} <= events
    assert KEY not in log.read_text()
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        connection.execute("UPDATE projects.scopes SET phase = 'current', position = 1, checked_at = now()")
        connection.execute(
            "INSERT INTO projects.project_bindings VALUES (%s, 'waldur', %s, %s)",
            (PROJECT, INSTANCE, PROJECT_REF),
        )
    status, answer = post(port, "slurm", report_body(seconds_ago(1), resource()))
    assert told(json.loads(answer)["outcomes"]) == [("changed", 2)]


def test_p20_a_start_without_betos_scope_is_refused_with_the_remedy(
    pg_server: PgServer, name: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*COMMAND, "serve", "provisioning-intake"],
        env=environment(pg_server, name, free_port(), tmp_path),
        capture_output=True,
        timeout=2 * NEVER,
    )
    assert done.returncode == 3
    assert b"not enrolled to ask at beto.questions" in done.stderr
    assert b"pharos-central broker administer" in done.stderr


@pytest.mark.usefixtures("template")
def test_a_start_without_the_schema_is_refused(pg_server: PgServer, tmp_path: Path) -> None:
    pg_server.execute("CREATE DATABASE never_migrated")
    done = subprocess.run(
        [*COMMAND, "serve", "provisioning-intake"],
        env=environment(pg_server, "never_migrated", free_port(), tmp_path),
        capture_output=True,
        timeout=2 * NEVER,
    )
    pg_server.execute("DROP DATABASE never_migrated WITH (FORCE)")
    assert done.returncode in {3, 4}
    assert b"Traceback" not in done.stderr
