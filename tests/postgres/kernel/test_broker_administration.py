"""The broker's administration: declares once, shows what waits, replays and discards the buried (X12)."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from central.kernel.broker import Message, QueueSpec
from central.kernel.broker_administration import Administration, BrokerAdministration, Enrolment
from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database
from central.kernel.notifications import Waiters

QUEUE = QueueSpec("trial.queue", ("trial.Happened",))
WANTED = Administration(
    (QUEUE, QueueSpec("trial.questions", ())),
    (Enrolment("pharos_resource_provisioning_views", "consume", QUEUE.name),),
)


@pytest.fixture
def administration(database: Database) -> BrokerAdministration:
    return BrokerAdministration(database)


@pytest.fixture
def broker(database: Database, database_url: str) -> Iterator[PostgresBroker]:
    waiters = Waiters(database_url, CHANNELS)
    waiters.start()
    yield PostgresBroker(database, waiters)
    waiters.close()


def bury(broker: PostgresBroker, *bodies: bytes) -> None:
    broker.publish([Message(uuid4(), "trial.Happened", body) for body in bodies])
    with broker.subscribe(QUEUE.name) as subscription:
        subscription.reject(subscription.fetch(100), "message_malformed: trial")


def test_x12_it_makes_what_is_lacking_and_then_nothing(administration: BrokerAdministration) -> None:
    assert administration.lacking(WANTED) == WANTED
    administration.apply(WANTED)
    administration.apply(WANTED)
    assert administration.lacking(WANTED) == Administration((), ())
    other = QueueSpec(QUEUE.name, ("trial.Other",))
    changed = Administration((other,), (Enrolment("pharos_operator", "ask", "trial.questions"),))
    assert administration.lacking(changed) == changed
    assert administration.lacking(WANTED + WANTED + changed) == changed


def test_p29_queues_show_what_waits_and_what_was_buried(
    administration: BrokerAdministration, broker: PostgresBroker
) -> None:
    administration.apply(WANTED)
    bury(broker, b"1", b"22")
    broker.publish([Message(uuid4(), "trial.Happened", b"3")])
    shown = {queue.name: queue for queue in administration.queues()}
    assert shown.keys() == {"trial.queue", "trial.questions"}
    queue = shown["trial.queue"]
    assert (queue.topics, queue.waiting, queue.dead) == (("trial.Happened",), 1, 2)
    assert queue.due_since is not None
    buried = administration.buried(QUEUE.name, 10)
    assert [(one.size, one.attempts, one.reason) for one in buried] == [
        (1, 1, "message_malformed: trial"),
        (2, 1, "message_malformed: trial"),
    ]
    assert administration.buried(None, 1) == buried[:1]
    assert administration.buried("trial.questions", 10) == []


def test_x12_a_replayed_message_comes_again_with_every_attempt(
    administration: BrokerAdministration, broker: PostgresBroker
) -> None:
    administration.apply(WANTED)
    bury(broker, b"1", b"2", b"3")
    first, second, third = administration.buried(QUEUE.name, 10)
    everywhere = [first.position, second.position, third.position]
    assert administration.buried_positions(QUEUE.name, None) == everywhere
    assert administration.buried_positions(QUEUE.name, [third.position, 10**9]) == everywhere[2:]
    assert administration.buried_positions("trial.questions", everywhere) == []
    assert administration.replay(QUEUE.name, [first.position, third.position]) == 2
    assert administration.replay(QUEUE.name, [first.position]) == 0
    assert administration.replay("trial.questions", [second.position]) == 0
    with broker.subscribe(QUEUE.name) as subscription:
        again = subscription.fetch(10)
    assert [(one.message.id, one.message.body, one.attempt) for one in again] == [
        (first.message_id, b"1", 1),
        (third.message_id, b"3", 1),
    ]
    assert administration.discard(QUEUE.name, [second.position]) == 1
    assert administration.buried(QUEUE.name, 10) == []
