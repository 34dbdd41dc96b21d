"""Something done beside a block, and the wait for a lock it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg

from central.kernel.database import Database
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER, until


@contextmanager
def in_background(action: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Runs `action` beside the block; the yielded call waits for what it returned."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        yield lambda: future.result(timeout=NEVER)


def wait_for_lock(admin: Database, pg_server: PgServer, name: str) -> None:
    """Until some backend of this database waits for a lock."""
    waiting = (
        "SELECT EXISTS (SELECT FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock')"
    )
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        until(lambda: connection.execute(waiting).fetchone() == (True,))
