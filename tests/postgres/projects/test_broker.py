"""The PostgreSQL queue holds the port's contract, its enrolments and its one statement a batch (P20, O4)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from central.kernel.broker import BackOff, Message, QueueSpec
from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import StatementRefused
from central.kernel.errors import Unavailable
from central.kernel.migrations import set_role_password
from central.kernel.notifications import Waiters
from tests.contract.broker_suite import BrokerSuite, Rig
from tests.postgres.conftest import PgServer

LEASE = 1.0
OPTIONS = BrokerOptions(lease=LEASE, look=0.1, back_off=BackOff(first=0.1, longest=1.0))


class TestPostgresBroker(BrokerSuite):
    @pytest.fixture
    def rig(self, admin: Database, waiters: Waiters) -> Rig:
        return Rig(PostgresBroker(admin, waiters, options=OPTIONS), lease=LEASE * 1.1)


@contextmanager
def login(pg_server: PgServer, name: str, *enrolments: tuple[str, str]) -> Iterator[PostgresBroker]:
    """A broker as an identity with these enrolments alone."""
    role, password = f"t_{secrets.token_hex(4)}", secrets.token_urlsafe(16)
    pg_server.execute(f"CREATE ROLE {role} LOGIN NOINHERIT")
    pg_server.execute(f"GRANT CONNECT ON DATABASE {name} TO {role}")
    set_role_password(pg_server.admin_url(), role, password)
    with Database(DatabaseOptions(pg_server.admin_url(name))) as admin:
        administration = PostgresBroker(admin, Waiters(pg_server.admin_url(name), CHANNELS))
        for act, what in enrolments:
            administration.enrol(role, act, what)  # type: ignore[arg-type]
    waiters = Waiters(pg_server.admin_url(name), CHANNELS)
    waiters.start()
    url = pg_server.urls.url(role, password, name)
    try:
        with Database(DatabaseOptions(url)) as database:
            yield PostgresBroker(database, waiters, options=OPTIONS)
    finally:
        waiters.close()
        with Database(DatabaseOptions(pg_server.admin_url(name))) as admin:
            admin.run(lambda tx: None)
        import psycopg

        with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}".encode())
        pg_server.execute(f"DROP ROLE {role}")


def test_an_identity_reaches_what_it_is_enrolled_for_and_nothing_else(
    pg_server: PgServer, name: str, broker: PostgresBroker
) -> None:
    for queue in ("suite.mine", "suite.other"):
        broker.declare(QueueSpec(queue, ("suite.Changed",)))
    broker.declare(QueueSpec("suite.questions", ()))
    broker.publish([Message(uuid4(), "suite.Changed", b"1")])
    acts = [("consume", "suite.mine"), ("ask", "suite.questions")]
    with login(pg_server, name, *acts) as mine:
        assert mine.allowed("consume", "suite.mine")
        assert mine.allowed("ask", "suite.questions")
        assert not mine.allowed("consume", "suite.other")
        assert not mine.allowed("publish", "suite.Changed")
        with mine.subscribe("suite.mine") as subscription:
            (delivery,) = subscription.fetch(10)
            subscription.ack([delivery])
        with mine.subscribe("suite.other") as subscription:
            assert subscription.fetch(10) == []
        with pytest.raises(StatementRefused):
            mine.publish([Message(uuid4(), "suite.Changed", b"2")])
        with pytest.raises(StatementRefused):
            mine.ask("suite.other", uuid4(), b"?", timeout=0.1)
        with pytest.raises(Unavailable):
            mine.ask("suite.questions", uuid4(), b"?", timeout=0.1)
        with pytest.raises(StatementRefused):
            mine.declare(QueueSpec("suite.new", ()))
    assert broker.depth("suite.other") == (1, 0)
    assert broker.depth("suite.questions") == (1, 0)


def test_an_identity_without_enrolment_may_do_nothing(
    pg_server: PgServer, name: str, broker: PostgresBroker
) -> None:
    with login(pg_server, name) as nobody:
        assert not nobody.allowed("consume", "resource_provisioning.project-changed")
        with pytest.raises(StatementRefused), nobody.subscribe("resource_provisioning.project-changed"):
            pass


def test_published_with_the_change_or_not_at_all(broker: PostgresBroker, admin: Database) -> None:
    broker.declare(QueueSpec("suite.mine", ("suite.Changed",)))

    def work(*, fail: bool) -> Callable[[object], None]:
        def inside(tx: object) -> None:
            broker.publish_in(tx, [Message(uuid4(), "suite.Changed", b"1")])  # type: ignore[arg-type]
            if fail:
                raise ZeroDivisionError

        return inside

    with pytest.raises(ZeroDivisionError):
        admin.run(work(fail=True))
    assert broker.depth("suite.mine") == (0, 0)
    admin.run(work(fail=False))
    assert broker.depth("suite.mine") == (1, 0)
