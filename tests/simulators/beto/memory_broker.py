"""The Broker port in memory, with a clock of its own: what the contract holds against PostgreSQL too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from central.kernel.broker import Act, BackOff, DeadLetter, Delivery, Message, QueueSpec, Subscription
from central.kernel.errors import Unavailable


@dataclass(slots=True)
class _Entry:
    message: Message
    visible: float
    attempts: int = 0
    question_until: float | None = None
    reason: str | None = None


@dataclass(slots=True)
class _Queue:
    spec: QueueSpec
    entries: dict[int, _Entry] = field(default_factory=dict)
    dead: list[DeadLetter] = field(default_factory=list)


class MemoryBroker:
    """See `Broker`. `clock` counts seconds."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        lease: float = 60.0,
        back_off: BackOff | None = None,
        enrolments: set[tuple[Act, str]] | None = None,
    ) -> None:
        self._clock = clock
        self._lease = lease
        self._back_off = back_off or BackOff()
        self._enrolments = enrolments
        self._queues: dict[str, _Queue] = {}
        self._answers: dict[UUID, bytes] = {}
        self._position = 0
        self._changed = threading.Condition()

    def declare(self, queue: QueueSpec) -> None:
        with self._changed:
            known = self._queues.setdefault(queue.name, _Queue(queue))
            known.spec = queue

    def exists(self, queue: str) -> bool:
        return queue in self._queues

    def allowed(self, act: Act, name: str) -> bool:
        return self._enrolments is None or (act, name) in self._enrolments

    def publish(self, messages: Sequence[Message]) -> None:
        with self._changed:
            for message in messages:
                for queue in self._queues.values():
                    if message.topic in queue.spec.topics:
                        self._put(queue, _Entry(message, self._clock()))

    def _put(self, queue: _Queue, entry: _Entry) -> None:
        self._position += 1
        queue.entries[self._position] = entry
        self._changed.notify_all()

    @contextmanager
    def subscribe(self, queue: str) -> Iterator[Subscription]:
        if queue not in self._queues:
            raise Unavailable("unavailable", f"the queue {queue} does not exist")
        yield _MemorySubscription(self, queue)

    def ask(self, queue: str, question_id: UUID, body: bytes, *, timeout: float) -> bytes:
        if queue not in self._queues:
            raise Unavailable("unavailable", f"there is no queue {queue}")
        with self._changed:
            until = self._clock() + timeout
            entry = _Entry(Message(question_id, "question", body), self._clock(), question_until=until)
            self._put(self._queues[queue], entry)
            while question_id not in self._answers:
                left = until - self._clock()
                if left <= 0:
                    raise Unavailable("unavailable", f"no answer from {queue} within {timeout:g} s")
                self._changed.wait(min(left, 0.05))
            return self._answers.pop(question_id)

    def ask_all(self, queue: str, questions: Mapping[UUID, bytes], *, timeout: float) -> Mapping[UUID, bytes]:
        with ThreadPoolExecutor(max(1, len(questions))) as pool:
            asked = {
                one: pool.submit(self.ask, queue, one, body, timeout=timeout)
                for one, body in questions.items()
            }
        return {one: answer.result() for one, answer in asked.items()}

    def dead_letters(self, queue: str, limit: int = 100) -> Sequence[DeadLetter]:
        return self._queues[queue].dead[:limit]

    # What a subscription does.

    def lease(self, name: str, limit: int, wait: float) -> list[Delivery]:
        deadline = self._clock() + wait
        with self._changed:
            while True:
                found = self._due(self._queues[name], limit)
                left = deadline - self._clock()
                if found or left <= 0:
                    return found
                self._changed.wait(min(left, 0.05))

    def _due(self, queue: _Queue, limit: int) -> list[Delivery]:
        now = self._clock()
        found: list[Delivery] = []
        for position, entry in list(queue.entries.items()):
            if len(found) == limit:
                break
            if entry.visible > now:
                continue
            if entry.question_until is not None and entry.question_until < now:
                del queue.entries[position]
            elif entry.attempts >= queue.spec.max_attempts:
                self._bury(queue, position, entry.reason or "attempts_exhausted")
            else:
                entry.attempts += 1
                entry.visible = now + self._lease
                found.append(Delivery(entry.message, position, entry.attempts))
        return found

    def _bury(self, queue: _Queue, position: int, reason: str) -> None:
        entry = queue.entries.pop(position)
        queue.dead.append(DeadLetter(entry.message, entry.attempts, reason, datetime.now(UTC)))

    def leased(self, name: str, deliveries: Sequence[Delivery]) -> list[tuple[_Queue, int, _Entry]]:
        queue = self._queues[name]
        return [
            (queue, delivery.position, queue.entries[delivery.position])
            for delivery in deliveries
            if delivery.position in queue.entries
            and queue.entries[delivery.position].attempts == delivery.attempt
        ]

    def settle(self, name: str, deliveries: Sequence[Delivery]) -> None:
        with self._changed:
            for queue, position, _ in self.leased(name, deliveries):
                del queue.entries[position]

    def give_back(self, name: str, deliveries: Sequence[Delivery], reason: str) -> None:
        with self._changed:
            for queue, position, entry in self.leased(name, deliveries):
                if entry.attempts >= queue.spec.max_attempts:
                    self._bury(queue, position, reason)
                else:
                    entry.visible = self._clock() + self._back_off.pause(entry.attempts)
                    entry.reason = reason

    def bury(self, name: str, deliveries: Sequence[Delivery], reason: str) -> None:
        with self._changed:
            for queue, position, _ in self.leased(name, deliveries):
                self._bury(queue, position, reason)

    def answered(self, name: str, question: Delivery, body: bytes) -> None:
        with self._changed:
            entry = self._queues[name].entries.pop(question.position, None)
            if entry is not None:
                self._answers.setdefault(question.message.id, body)
                self._changed.notify_all()


class _MemorySubscription:
    def __init__(self, broker: MemoryBroker, queue: str) -> None:
        self._broker = broker
        self._queue = queue

    def fetch(self, limit: int, *, wait: float = 0.0) -> Sequence[Delivery]:
        return self._broker.lease(self._queue, limit, wait)

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        self._broker.settle(self._queue, deliveries)

    def nack(self, deliveries: Sequence[Delivery], reason: str) -> None:
        self._broker.give_back(self._queue, deliveries, reason)

    def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        self._broker.bury(self._queue, deliveries, reason)

    def answer(self, question: Delivery, body: bytes) -> None:
        self._broker.answered(self._queue, question, body)

    def answer_all(self, answers: Sequence[tuple[Delivery, bytes]]) -> None:
        for question, body in answers:
            self.answer(question, body)
