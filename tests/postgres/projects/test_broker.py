"""The PostgreSQL queue holds the port's contract, its enrolments and its one statement a batch (P20, O4)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from central.kernel.broker import BackOff, Message, QueueSpec
from central.kernel.broker_postgres import BrokerOptions, PostgresBroker
from central.kernel.database import Database
from central.kernel.driver_errors import StatementRefused
from central.kernel.errors import Unavailable
from central.kernel.notifications import Waiters
from central.kernel.queries import Query
from tests.contract.broker_suite import BrokerSuite, Rig
from tests.postgres.conftest import PgServer
from tests.postgres.projects.logins import login

LEASE = 100.0
OPTIONS = BrokerOptions(lease=LEASE, look=0.1, back_off=BackOff(first=10.0, longest=40.0))
PASS_BY = Query(
    "pass_by",
    b"UPDATE broker.deliveries SET visible_at = visible_at - make_interval(secs => %(seconds)s),"
    b" question_until = question_until - make_interval(secs => %(seconds)s)",
)


class TestPostgresBroker(BrokerSuite):
    @pytest.fixture
    def rig(self, admin: Database, waiters: Waiters) -> Rig:
        """Its times are the database's; they are moved instead of waited for, and no lease is short."""

        def sleep(seconds: float) -> None:
            admin.run(lambda tx: tx.execute(PASS_BY, {"seconds": seconds}))

        return Rig(PostgresBroker(admin, waiters, options=OPTIONS), lease=LEASE, sleep=sleep)


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
