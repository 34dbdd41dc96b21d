"""`pharos-central serve provisioning-intake` as a process: variables, files, a role of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from central.processes.provisioning_worker import VIEWS_IDENTITY
from tests.contract.goldens import canonical
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.environment import without_ours
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    PROJECT,
    PROJECT_REF,
    ROLE,
    report_body,
    resource,
    told,
)

KEY = "process-intake-key-of-thirty-two-"
COMMAND = [sys.executable, "-c", "from central.cli import main; main()"]


def environment(pg_server: PgServer, name: str, port: int, folder: Path) -> dict[str, str]:
    views = pg_server.role_url(VIEWS_IDENTITY, name)
    files = {"url": pg_server.role_url(ROLE, name), "broker": views, "key": KEY}
    for file, content in files.items():
        (folder / file).write_text(content + "\n")
        (folder / file).chmod(0o600)
    kept = {variable: os.environ[variable] for variable in ("PATH", "HOME") if variable in os.environ}
    return kept | {
        "PHAROS_SITES": "slurm,k8s",
        "PHAROS_PROVISIONING_INTAKE_LISTEN": f"127.0.0.1:{port}",
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": str(folder / "url"),
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": str(folder / "broker"),
        "RESOURCE_PROVISIONING_WALDUR_INSTANCE": INSTANCE,
        "RESOURCE_PROVISIONING_SLURM_INTAKE_KEY_FILE": str(folder / "key"),
    }


def enrol(pg_server: PgServer, name: str) -> None:
    """Runs the broker's administration, as an operator does."""
    done = subprocess.run(
        [*COMMAND, "broker", "administer", "--json"],
        env={**without_ours(), "PHAROS_DATABASE_URL": pg_server.admin_url(name)},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def serving(pg_server: PgServer, name: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """The port of a running intake, and its log."""
    enrol(pg_server, name)
    port, log = free_port(), folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*COMMAND, "serve", "provisioning-intake"],
            env=environment(pg_server, name, port, folder),
            stderr=sink,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 30
        while not ready(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield port, log
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.fixture
def served(pg_server: PgServer, name: str, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """As `serving`."""
    with serving(pg_server, name, tmp_path) as running:
        yield running


def ready(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except OSError:
        return False


def post(port: int, site: str, body: dict[str, Any]) -> tuple[int, bytes]:
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    }
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", f"/resource-provisioning/{site}/reports", canonical(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def seconds_ago(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))


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
        timeout=60,
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
        timeout=60,
    )
    pg_server.execute("DROP DATABASE never_migrated WITH (FORCE)")
    assert done.returncode in {3, 4}
    assert b"Traceback" not in done.stderr
