"""A transaction pooler between us and PostgreSQL (F05, O4)."""

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from central.kernel.aggregates import Aggregates, Command, Decide, Decision, Stored, request_digest
from central.kernel.database import Database, DatabaseOptions, Transaction
from central.kernel.driver_errors import StatementRefused
from central.kernel.migrations import require_schema
from central.kernel.queries import parse_queries
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import until

pytestmark = pytest.mark.skipif(
    shutil.which("pgbouncer") is None, reason="PgBouncer is not installed (Debian package pgbouncer)"
)
ROLE = "pharos_member_api"
COUNT = parse_queries(
    "-- name: count\nSELECT count(*) AS n FROM trial.aggregate_heads WHERE kind <> %(k)s", source="t"
)


@pytest.fixture
def pooled_url(pg_server: PgServer, kernel_template: str, kernel_name: str) -> Iterator[str]:
    """PgBouncer in transaction mode with two server connections."""
    folder = Path(tempfile.mkdtemp(prefix="pharos-bouncer-", dir="/tmp"))
    (folder / "users").write_text(f'"{ROLE}" "{pg_server.passwords[ROLE]}"\n')
    (folder / "ini").write_text(
        "[databases]\n"
        f"* = host={pg_server.urls.socket_folder} port=5432\n"
        "[pgbouncer]\n"
        f"unix_socket_dir = {folder}\nlisten_addr =\nlisten_port = 6432\n"
        f"auth_type = trust\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 2\nserver_reset_query =\n"
    )
    user = 65534 if os.geteuid() == 0 else None
    if user is not None:
        for path in (folder, folder / "users", folder / "ini"):
            os.chown(path, user, user)
    process = subprocess.Popen(
        ["pgbouncer", folder / "ini"],
        user=user,
        group=user,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until((folder / ".s.PGSQL.6432").exists)
        yield f"postgresql://{ROLE}@/{kernel_name}?host={str(folder).replace('/', '%2F')}&port=6432"
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder)


def many(database: Database) -> list[object]:
    """Identical queries from four threads, so that server connections change hands."""
    faults: list[object] = []

    def some() -> None:
        for _ in range(6):
            try:
                database.run(lambda tx: tx.all(dict, COUNT["count"], {"k": "x"}))
            except Exception as fault:
                faults.append(fault)

    threads = [threading.Thread(target=some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return faults


def snapshot(number: int) -> Decide:
    def decide(_: Transaction, __: Stored | None) -> Decision:
        return Decision(f'{{"n":{number}}}'.encode())

    return decide


def test_f05_without_prepared_statements_a_pooler_changes_nothing(pooled_url: str) -> None:
    with Database(DatabaseOptions(pooled_url, prepare_threshold=None)) as database:
        database.check_ready()
        require_schema(database, ())
        assert many(database) == []
        store, id_ = Aggregates(database, schema="trial"), uuid4()
        for number in range(1, 7):
            asked = Command(uuid4(), request_digest(b"x"))
            receipt = store.decide(asked, "k", id_, snapshot(number), now=datetime.now(UTC))
            assert receipt.version == number


def test_f05_with_them_an_old_pooler_fails_which_is_why_the_setting_exists(pooled_url: str) -> None:
    version = subprocess.run(["pgbouncer", "--version"], capture_output=True, text=True).stdout.split()[1]
    if tuple(int(part) for part in version.split(".")[:2]) >= (1, 21):
        pytest.skip(f"PgBouncer {version} carries prepared statements itself")
    with Database(DatabaseOptions(pooled_url, prepare_threshold=1)) as database:
        faults = many(database)
    assert any(
        isinstance(fault, StatementRefused) and "prepared statement" in str(fault) for fault in faults
    ) or any("26000" in str(fault) or "42P05" in str(fault) for fault in faults)


def test_f05_timeouts_stand_on_the_role_so_the_pooler_keeps_them(pooled_url: str) -> None:
    with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as connection:
        shown = [
            connection.execute(f"SHOW {name}".encode()).fetchone()
            for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        ]
    assert shown == [("30s",), ("10s",), ("1min",)]
