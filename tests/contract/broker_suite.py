"""What every Broker must hold, whatever carries its messages (central/kernel/broker.py, rules 1 to 5).

A test module subclasses `BrokerSuite` and gives a `rig`: the broker, how short its lease and pauses are,
and a way to let them pass. Names of queues and topics are the suite's own, so an adapter may run it
against a shared server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from central.kernel.broker import (
    MESSAGE_BYTES_MAX,
    Broker,
    Consumer,
    Delivery,
    ManyQuestions,
    Message,
    MessageRefused,
    QueueSpec,
    ask_in_turns,
)
from central.kernel.errors import Unavailable

ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Rig:
    """`lease`: seconds; `sleep` lets time pass as the broker counts it."""

    broker: Broker
    lease: float
    sleep: Callable[[float], None] = time.sleep

    def declare(self, *topics: str) -> str:
        """A queue of this test alone."""
        name = f"suite.{uuid4().hex[:12]}"
        self.broker.declare(QueueSpec(name, topics, ATTEMPTS))
        return name

    def publish(self, topic: str, *bodies: bytes) -> list[Message]:
        """Messages with new ids."""
        messages = [Message(uuid4(), topic, body) for body in bodies]
        self.broker.publish(messages)
        return messages

    def fetch(self, queue: str, limit: int = 100) -> list[Delivery]:
        """What is due now."""
        with self.broker.subscribe(queue) as subscription:
            return list(subscription.fetch(limit))


def topic() -> str:
    """A topic of this test alone."""
    return f"suite.{uuid4().hex[:12]}.Changed"


class BrokerSuite:
    """Inherit, and give the fixture `rig`."""

    def test_a_queue_exists_once_declared(self, rig: Rig) -> None:
        queue = rig.declare(topic())
        assert rig.broker.exists(queue)
        assert not rig.broker.exists(f"{queue}.another")
        rig.broker.declare(QueueSpec(queue, (), ATTEMPTS))
        assert rig.broker.exists(queue)

    def test_nobody_consumes_or_asks_where_there_is_no_queue(self, rig: Rig) -> None:
        with pytest.raises(Unavailable), rig.broker.subscribe("suite.nowhere"):
            pass
        with pytest.raises(Unavailable):
            rig.broker.ask("suite.nowhere", uuid4(), b"{}", timeout=0.1)

    def test_every_bound_queue_gets_every_message_whole_and_in_order(self, rig: Rig) -> None:
        one, other = topic(), topic()
        first, second = rig.declare(one, other), rig.declare(one)
        bodies = [b"", bytes(range(256)), b"x" * MESSAGE_BYTES_MAX]
        sent = rig.publish(one, *bodies) + rig.publish(other, b"o") + rig.publish(topic(), b"nobody's")
        assert [d.message for d in rig.fetch(first)] == sent[:4]
        assert [d.message for d in rig.fetch(second)] == sent[:3]

    def test_a_message_is_bounded(self, rig: Rig) -> None:
        with pytest.raises(ValueError, match=f"at most {MESSAGE_BYTES_MAX} bytes"):
            rig.publish(topic(), b"x" * (MESSAGE_BYTES_MAX + 1))

    def test_what_is_acknowledged_never_comes_again(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"1", b"2")
        with rig.broker.subscribe(queue) as subscription:
            one, _ = subscription.fetch(10)
            subscription.ack([one])
            subscription.ack([one])
        rig.sleep(rig.lease)
        assert [(d.message.body, d.attempt) for d in rig.fetch(queue)] == [(b"2", 2)]

    def test_a_leased_message_is_nobody_elses_until_its_lease_ends(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"1")
        with rig.broker.subscribe(queue) as dead, rig.broker.subscribe(queue) as living:
            (lost,) = dead.fetch(10)
            assert living.fetch(10) == []
            rig.sleep(rig.lease)
            (again,) = living.fetch(10)
            assert (again.message, again.attempt) == (lost.message, 2)
            # The one that was slow settles nothing any more.
            dead.ack([lost])
            dead.reject([lost], "too late")
            dead.nack([lost], "too late")
            living.nack([again], "later")
            rig.sleep(rig.lease)
            assert [d.attempt for d in living.fetch(10)] == [3]
        assert rig.broker.dead_letters(queue) == []

    def test_a_refused_message_pauses_ever_longer_and_is_buried_at_last(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        (message,) = rig.publish(name, b"bad")
        pauses: list[int] = []
        with rig.broker.subscribe(queue) as subscription:
            for attempt in range(1, ATTEMPTS + 1):
                (delivery,) = self._next(rig, subscription, pauses)
                assert delivery.attempt == attempt
                subscription.nack([delivery], "not_yet")
            rig.sleep(rig.lease)
            assert subscription.fetch(10) == []
        assert pauses[0] < pauses[1] < pauses[2]
        (dead,) = rig.broker.dead_letters(queue)
        assert (dead.message, dead.attempts, dead.reason) == (message, ATTEMPTS, "not_yet")

    @staticmethod
    def _next(rig: Rig, subscription: object, pauses: list[int]) -> list[Delivery]:
        for steps in range(400):
            found = subscription.fetch(10)  # type: ignore[attr-defined]
            if found:
                pauses.append(steps)
                return list(found)
            rig.sleep(rig.lease / 100)
        raise AssertionError("it never came again")

    def test_a_rejected_message_is_buried_at_once_with_its_reason(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        (bad, _) = rig.publish(name, b"bad", b"good")
        with rig.broker.subscribe(queue) as subscription:
            one, other = subscription.fetch(10)
            subscription.reject([one], "message_malformed: why")
            subscription.ack([other])
        rig.sleep(rig.lease)
        assert rig.fetch(queue) == []
        (dead,) = rig.broker.dead_letters(queue)
        assert (dead.message, dead.attempts, dead.reason) == (bad, 1, "message_malformed: why")
        assert dead.died_at.tzinfo is not None

    def test_a_message_that_kills_its_consumers_is_buried(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"poison")
        for _ in range(ATTEMPTS):
            assert len(rig.fetch(queue)) == 1
            rig.sleep(rig.lease)
        assert rig.fetch(queue) == []
        assert [dead.reason for dead in rig.broker.dead_letters(queue)] == ["attempts_exhausted"]

    def test_a_waiting_consumer_is_woken(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        with ThreadPoolExecutor(1) as pool, rig.broker.subscribe(queue) as subscription:
            waiting = pool.submit(subscription.fetch, 10, wait=600.0)
            time.sleep(0.2)
            rig.publish(name, b"news")
            assert [d.message.body for d in waiting.result(timeout=60)] == [b"news"]

    def test_many_consumers_share_a_queue_and_nothing_is_lost_or_doubled(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        sent = {m.id for m in rig.publish(name, *[b"%d" % n for n in range(200)])}
        seen: list[UUID] = []
        lock = threading.Lock()

        def work() -> None:
            with rig.broker.subscribe(queue) as subscription:
                while batch := subscription.fetch(7):
                    subscription.ack(batch)
                    with lock:
                        seen.extend(d.message.id for d in batch)

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(work) for _ in range(4)]:
                done.result(timeout=60)
        assert (len(seen), set(seen)) == (200, sent)

    def test_a_question_has_one_answer(self, rig: Rig) -> None:
        queue = rig.declare()
        question = uuid4()
        with ThreadPoolExecutor(1) as pool, rig.broker.subscribe(queue) as subscription:
            answer = pool.submit(rig.broker.ask, queue, question, b"?", timeout=120.0)
            (asked,) = subscription.fetch(1, wait=60.0)
            assert (asked.message.id, asked.message.body) == (question, b"?")
            subscription.answer(asked, b"!")
            subscription.answer(asked, b"another")
            assert answer.result(timeout=60) == b"!"
        rig.sleep(rig.lease)
        assert rig.fetch(queue) == []

    def test_answers_may_be_given_together_and_a_second_one_is_dropped(self, rig: Rig) -> None:
        queue = rig.declare()
        questions = {uuid4(): bytes([number]) for number in range(3)}
        with ThreadPoolExecutor(1) as pool, rig.broker.subscribe(queue) as subscription:
            answers = pool.submit(rig.broker.ask_all, queue, questions, timeout=120.0)
            asked: list[Delivery] = []
            while len(asked) < len(questions):
                asked += subscription.fetch(3, wait=60.0)
            subscription.answer_all([])
            subscription.answer_all([(one, one.message.body + b"!") for one in asked])
            subscription.answer_all([(one, b"another") for one in asked])
            assert answers.result(timeout=60) == {one: body + b"!" for one, body in questions.items()}
        rig.sleep(rig.lease)
        assert rig.fetch(queue) == []

    def test_many_questions_are_put_in_turns_so_that_others_are_answered_between(self, rig: Rig) -> None:
        queue = rig.declare()
        questions = {uuid4(): bytes([number]) for number in range(7)}
        with ThreadPoolExecutor(1) as pool, rig.broker.subscribe(queue) as subscription:
            limits = ManyQuestions(at_once=3, seconds=120.0)
            answers = pool.submit(ask_in_turns, rig.broker, queue, questions, limits)
            waiting: list[int] = []
            while sum(waiting) < len(questions):
                asked = subscription.fetch(10, wait=60.0)
                waiting.append(len(asked))
                subscription.answer_all([(one, one.message.body) for one in asked])
            assert max(waiting) <= 3
            assert answers.result(timeout=60) == questions
            silent = pool.submit(ask_in_turns, rig.broker, queue, questions, ManyQuestions(3, 0.2))
            with pytest.raises(Unavailable):
                silent.result(timeout=60)
        assert ask_in_turns(rig.broker, queue, {}, limits) == {}

    def test_several_questions_have_an_answer_each_or_none(self, rig: Rig) -> None:
        queue = rig.declare()
        questions = {uuid4(): bytes([number]) for number in range(5)}
        with ThreadPoolExecutor(1) as pool, rig.broker.subscribe(queue) as subscription:
            answers = pool.submit(rig.broker.ask_all, queue, questions, timeout=120.0)
            left = len(questions)
            while left:
                asked = subscription.fetch(2, wait=60.0)
                for question in reversed(asked):
                    subscription.answer(question, question.message.body + b"!")
                left -= len(asked)
            assert answers.result(timeout=60) == {one: body + b"!" for one, body in questions.items()}
            answers = pool.submit(rig.broker.ask_all, queue, questions, timeout=3.0)
            (first, *_) = subscription.fetch(5, wait=60.0)
            subscription.answer(first, b"!")
            with pytest.raises(Unavailable):
                answers.result(timeout=60)
        assert rig.broker.ask_all(queue, {}, timeout=0.1) == {}

    def test_no_answer_in_time_is_unavailable_and_the_question_expires(self, rig: Rig) -> None:
        queue = rig.declare()
        with pytest.raises(Unavailable):
            rig.broker.ask(queue, uuid4(), b"?", timeout=0.2)
        rig.sleep(rig.lease)
        assert rig.fetch(queue) == []
        assert rig.broker.dead_letters(queue) == []

    def test_a_consumer_settles_each_message_by_what_became_of_it(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"good", b"malformed", b"unavailable", b"bug", b"good too")
        handled: list[bytes] = []

        def handle(messages: Sequence[Message]) -> None:
            bodies = [message.body for message in messages]
            if b"malformed" in bodies:
                raise MessageRefused("message_malformed", "why")
            if b"unavailable" in bodies:
                raise Unavailable("database_busy", "later")
            if b"bug" in bodies:
                raise ZeroDivisionError
            handled.extend(bodies)

        with rig.broker.subscribe(queue) as subscription:
            turn = Consumer(queue, handle).turn(subscription)
        assert (turn.applied, turn.retried, turn.refused, turn.fetched) == (2, 2, 1, 5)
        assert handled == [b"good", b"good too"]
        rig.sleep(rig.lease)
        assert [d.message.body for d in rig.fetch(queue)] == [b"unavailable", b"bug"]
        assert [d.reason for d in rig.broker.dead_letters(queue)] == ["message_malformed: why"]

    def test_a_consumer_that_cannot_write_tries_once_and_gives_all_back(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"1", b"2", b"3")
        tried: list[int] = []

        def handle(messages: Sequence[Message]) -> None:
            tried.append(len(messages))
            raise Unavailable("database_unavailable", "gone")

        with rig.broker.subscribe(queue) as subscription:
            turn = Consumer(queue, handle).turn(subscription)
        assert (tried, turn.retried) == ([3], 3)
        rig.sleep(rig.lease)
        assert [d.message.body for d in rig.fetch(queue)] == [b"1", b"2", b"3"]

    def test_a_consumer_applies_together_what_it_may(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        rig.publish(name, b"1", b"malformed", b"2", b"3")
        handled: list[list[bytes]] = []

        def check(message: Message) -> None:
            if message.body == b"malformed":
                raise MessageRefused("message_malformed", "why")

        consumer = Consumer(queue, lambda ms: handled.append([m.body for m in ms]), check=check, batch=3)
        with rig.broker.subscribe(queue) as subscription:
            turns = [consumer.turn(subscription) for _ in range(3)]
        assert handled == [[b"1", b"2"], [b"3"]]
        assert [(t.applied, t.refused) for t in turns] == [(2, 1), (1, 0), (0, 0)]
        assert [d.reason for d in rig.broker.dead_letters(queue)] == ["message_malformed: why"]

    def test_a_running_consumer_stops_when_told(self, rig: Rig) -> None:
        name = topic()
        queue = rig.declare(name)
        handled, stop = threading.Event(), threading.Event()
        consumer = Consumer(queue, lambda messages: handled.set())
        runner = threading.Thread(target=consumer.run, args=(rig.broker, stop), kwargs={"turn_seconds": 0.2})
        runner.start()
        try:
            rig.publish(name, b"1")
            assert handled.wait(60)
        finally:
            stop.set()
            runner.join(60)
        assert not runner.is_alive()
        rig.sleep(rig.lease)
        assert rig.fetch(queue) == []
