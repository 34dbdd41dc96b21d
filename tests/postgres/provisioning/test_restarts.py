"""A served intake while its database restarts and crashes, its workers are killed and transactions conflict.

Eight agents report over HTTP all the while. Afterwards every report counts exactly once (P5, P7, P8, X7).
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from central.kernel.embedded_postgres import EmbeddedPostgres, EmbeddedUrls
from central.kernel.migrations import migrate, set_role_password
from central.processes.schema import CONTEXTS
from tests.bench.intake import ROLE, SPAWN, serve_intake, wait_for
from tests.long import examples
from tests.ports import free_port
from tests.postgres.conftest import postgres_bin_dir
from tests.postgres.provisioning.reporters import RESOURCES, Reporter

RESTARTS = 10
REPORTERS = 8
CONFLICTS = """
CREATE SEQUENCE provisioning.attempts;
GRANT USAGE ON SEQUENCE provisioning.attempts TO PUBLIC;
CREATE FUNCTION provisioning.conflict() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE attempt bigint := nextval('provisioning.attempts');
BEGIN
    IF attempt % 7 = 0 THEN RAISE EXCEPTION 'forced' USING ERRCODE = '40001'; END IF;
    IF attempt % 11 = 0 THEN RAISE EXCEPTION 'forced' USING ERRCODE = '40P01'; END IF;
    RETURN NULL;
END $$;
GRANT EXECUTE ON FUNCTION provisioning.conflict() TO PUBLIC;
CREATE TRIGGER conflict AFTER INSERT ON provisioning.receipts
    FOR EACH STATEMENT EXECUTE FUNCTION provisioning.conflict();
CREATE TRIGGER conflict AFTER INSERT ON provisioning.reports
    FOR EACH STATEMENT EXECUTE FUNCTION provisioning.conflict();
"""


@dataclass
class Stack:
    """A server of its own and the intake over it."""

    server: EmbeddedPostgres
    urls: EmbeddedUrls
    intake: BaseProcess
    port: int
    log: Path
    done: Counter[str] = field(default_factory=Counter)

    def restart(self, *, crash: bool) -> None:
        """The database ends, by request or as if the machine had, and comes back with what it kept."""
        if crash and self.server.pid is not None:
            os.kill(self.server.pid, signal.SIGQUIT)
        self.server.stop()
        self.server.start()
        self.done["crashed" if crash else "restarted"] += 1

    def faults(self) -> list[str]:
        """What the intake's log holds of faults of its own."""
        return [line for line in self.log.read_text().splitlines() if '"internal_error"' in line]

    def kill_a_worker(self, chance: random.Random) -> None:
        """One of the intake's workers ends without a word; its master starts another."""
        assert self.intake.pid is not None
        children = Path(f"/proc/{self.intake.pid}/task/{self.intake.pid}/children").read_text().split()
        if children:
            os.kill(int(chance.choice(children)), signal.SIGKILL)
            self.done["workers killed"] += 1

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.urls.admin, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture
def stack() -> Iterator[Stack]:
    with _stack() as made:
        yield made


@contextmanager
def _stack() -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="pharos-restarts-", dir="/tmp"))
    folder.chmod(0o711)
    server, log = EmbeddedPostgres(folder / "server", postgres_bin_dir()), folder / "intake.log"
    try:
        urls = server.start()
        migrate(urls.admin, CONTEXTS)
        password, port = secrets.token_urlsafe(16), free_port()
        set_role_password(urls.admin, ROLE, password)
        with psycopg.connect(urls.admin, autocommit=True) as connection:
            connection.execute(CONFLICTS.encode())
        intake = SPAWN.Process(target=serve_intake, args=(urls.url(ROLE, password, "postgres"), port, log))
        intake.start()
        try:
            wait_for(port, "/readyz")
            yield Stack(server, urls, intake, port, log)
        finally:
            intake.terminate()
            intake.join(60)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _progress(stack: Stack, reporters: list[Reporter]) -> None:
    """Until every reporter was answered once more, or one failed."""
    before = [reporter.reports for reporter in reporters]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        failures = [reporter.failure for reporter in reporters if reporter.failure]
        assert not failures, (failures, stack.faults())
        if all(now.reports > then for now, then in zip(reporters, before, strict=True)):
            return
        time.sleep(0.01)
    raise AssertionError("a reporter was not answered for two minutes")


@pytest.mark.soak
def test_f01_f04_x7_every_report_counts_once_whatever_fails(
    stack: Stack, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, over = int(request.config.getoption("--seed")), threading.Event()
    chance = random.Random(seed)
    reporters = [Reporter(stack.port, number, seed, over) for number in range(REPORTERS)]
    for reporter in reporters:
        reporter.start()
    try:
        for turn in range(examples(RESTARTS)):
            _progress(stack, reporters)
            stack.kill_a_worker(chance)
            time.sleep(chance.random() * 0.1)
            stack.restart(crash=turn % 2 == 1)
        _progress(stack, reporters)
    finally:
        over.set()
        for reporter in reporters:
            reporter.join(150)
    assert [reporter.failure for reporter in reporters if reporter.failure or reporter.is_alive()] == []
    _check(stack, reporters)
    [(attempts,)] = stack.rows("SELECT last_value FROM provisioning.attempts")
    stack.done["conflicts forced"] = attempts // 7 + attempts // 11 - attempts // 77
    counts = sum((reporter.counts for reporter in reporters), Counter[str]()) + stack.done
    with capsys.disabled():
        print(f"\nrestarts, --seed {seed}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))


def _check(stack: Stack, reporters: list[Reporter]) -> None:
    """What is stored is what the reporters know, no more and no less."""
    known = {allocation: known for reporter in reporters for allocation, known in reporter.known.items()}
    assert len(known) == REPORTERS * RESOURCES
    versions = stack.rows(
        "SELECT id::text, count(*), min(version), max(version), count(DISTINCT command_id) "
        "FROM provisioning.aggregate_versions GROUP BY id"
    )
    assert {row[0]: row[1:] for row in versions} == {
        allocation: (each.version, 1, each.version, each.version) for allocation, each in known.items()
    }
    sightings = stack.rows(
        "SELECT allocation_id::text, version, revision, "
        "to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') "
        "FROM provisioning.allocation_sightings"
    )
    assert {row[0]: row[1:] for row in sightings} == {
        allocation: (each.version, each.revision, each.seen_at) for allocation, each in known.items()
    }
    told = sum((reporter.counts for reporter in reporters), Counter[str]())
    receipts = stack.rows("SELECT count(*), count(DISTINCT command_id) FROM provisioning.receipts")
    assert receipts == [(told["changed"], told["changed"])]
    answered = told["changed"] + told["seen"] + told["stale_report"]
    assert stack.rows("SELECT count(*) FROM provisioning.reports") == [(answered // RESOURCES,)]
