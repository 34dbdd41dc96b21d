"""Something done beside a block, and the wait for a lock it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg

from central.kernel.database import Database
from tests.postgres.conftest import PgServer


@contextmanager
def in_background(action: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Runs `action` beside the block; the yielded call waits for what it returned."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        yield lambda: future.result(timeout=30)


def wait_for_lock(admin: Database, pg_server: PgServer, name: str) -> None:
    """Until some backend of this database waits for a lock."""
    deadline = time.monotonic() + 20
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        while time.monotonic() < deadline:
            waiting = connection.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            if waiting and waiting[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waited for a lock")
