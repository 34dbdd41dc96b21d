"""A server that stands still keeps its connections open and says nothing on them (F04, X1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import DatabaseUnavailable, OutcomeUnknown
from central.kernel.queries import Query
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.proxy import LossyRelay, lossy_relay
from tests.postgres.kernel.waiting import eventually

ONE = Query("one", b"SELECT 1 AS number")


@dataclass(frozen=True, slots=True)
class Number:
    """A row."""

    number: int


def asked(database: Database) -> int:
    return database.run(lambda tx: tx.one(Number, ONE), repeatable=True).number


@pytest.fixture
def relay(pg_server: PgServer) -> Iterator[LossyRelay]:
    with lossy_relay(pg_server.urls.socket_folder) as running:
        yield running


@pytest.fixture
def database(pg_server: PgServer, kernel_name: str, relay: LossyRelay) -> Iterator[Database]:
    """Behind the relay, with little patience."""
    host = str(pg_server.urls.socket_folder).replace("/", "%2F")
    url = pg_server.admin_url(kernel_name).replace(host, str(relay.folder).replace("/", "%2F"))
    options = DatabaseOptions(
        url, pool_size=1, answer_seconds=1.0, pool_timeout_seconds=1.0, connect_timeout_seconds=2
    )
    with Database(options) as opened:
        yield opened


def test_f04_x1_silence_is_unavailable_and_its_late_answer_answers_nothing(
    database: Database, relay: LossyRelay
) -> None:
    assert asked(database) == 1
    relay.speaks.clear()
    for ask in (lambda: asked(database), database.check_ready):
        with pytest.raises(DatabaseUnavailable) as silent:
            ask()
        assert silent.value.code == "database_unavailable"
    relay.speaks.set()
    eventually(lambda: asked(database) == 1)


def test_x7_silence_after_commit_was_said_is_an_unknown_outcome(
    database: Database, relay: LossyRelay
) -> None:
    with pytest.raises(OutcomeUnknown), database.transaction() as tx:
        tx.one(Number, ONE)
        relay.speaks.clear()
    relay.speaks.set()
    eventually(lambda: asked(database) == 1)
