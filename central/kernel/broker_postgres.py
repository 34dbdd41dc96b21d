"""The Broker port on PostgreSQL: leases taken with SKIP LOCKED, one statement a batch, woken by LISTEN.

1. A lease is a time in the row, not an open transaction: a consumer may die, and a transaction pooler may
   stand between (O4). Every time is the server's, so the clocks of consumers do not matter.
2. `attempts` is the fence: what was handed out again cannot be settled by whoever had it before.
3. Wake-ups only shorten the wait; every wait ends with a fetch, so a lost one costs time and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.broker import Act, BackOff, DeadLetter, Delivery, Message, QueueSpec, Subscription
from central.kernel.database import Database, Transaction
from central.kernel.errors import Unavailable
from central.kernel.notifications import Waiters, Watch
from central.kernel.queries import Queries, load_queries
from central.kernel.times import stored_instant

CHANNEL: Final = "pharos_broker"
ANSWERS_CHANNEL: Final = "pharos_broker_answers"
CHANNELS: Final = (CHANNEL, ANSWERS_CHANNEL)


@dataclass(frozen=True, slots=True)
class BrokerOptions:
    """Seconds. `lease`: how long a consumer may work on what it fetched before another gets it. `look`: how
    long a wait lasts at most without looking, for messages whose pause ends wake nobody.
    """

    lease: float = 60.0
    look: float = 1.0
    back_off: BackOff = field(default_factory=BackOff)


class PostgresBroker:
    """The adapter. `waiters` listens on `CHANNELS` and is started by its owner."""

    def __init__(
        self, database: Database, waiters: Waiters, *, options: BrokerOptions = BrokerOptions()
    ) -> None:
        self._database = database
        self._waiters = waiters
        self._options = options
        self._queries = load_queries("central.kernel", "broker.sql")

    def declare(self, queue: QueueSpec) -> None:
        """See `Broker`; the migrator's right, not a process's."""
        params = {"queue": queue.name, "topics": list(queue.topics), "attempts": queue.max_attempts}
        self._database.run(lambda tx: tx.execute(self._queries["declare"], params), repeatable=True)

    def enrol(self, identity: str, act: Act, name: str) -> None:
        """Lets a login role do one thing at the broker; the migrator's right, not a process's."""
        params = {"identity": identity, "act": act, "name": name}
        self._database.run(lambda tx: tx.execute(self._queries["enrol"], params), repeatable=True)

    @property
    def identity(self) -> str:
        """The login role of this broker's connections."""
        return self._database.run(
            lambda tx: tx.one(_Identity, self._queries["identity"]), repeatable=True
        ).identity

    def exists(self, queue: str) -> bool:
        """See `Broker`."""
        return self._yes("exists", {"queue": queue})

    def allowed(self, act: Act, name: str) -> bool:
        """See `Broker`."""
        return self._yes("may_look", {}) and self._yes("allowed", {"act": act, "name": name})

    def _yes(self, query: str, params: dict[str, object]) -> bool:
        return self._database.run(lambda tx: tx.one(_Yes, self._queries[query], params), repeatable=True).yes

    def publish(self, messages: Sequence[Message]) -> None:
        """See `Broker`."""
        if messages:
            self._database.run(lambda tx: self.publish_in(tx, messages), repeatable=True)

    def publish_in(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """As `publish`, inside the caller's transaction on the broker's own database: sent if it commits."""
        params = {
            "ids": [message.id for message in messages],
            "topics": [message.topic for message in messages],
            "bodies": [message.body for message in messages],
        }
        tx.execute(self._queries["publish"], params)

    def subscribe(self, queue: str) -> AbstractContextManager[Subscription]:
        """See `Broker`."""
        return self._subscription(queue)

    @contextmanager
    def _subscription(self, queue: str) -> Iterator[Subscription]:
        if not self.exists(queue):
            raise Unavailable(
                "unavailable", f"the queue {queue} does not exist; run the broker's administration"
            )
        with self._waiters.watch(CHANNEL, queue) as watch:
            yield _PostgresSubscription(
                self._database,
                self._queries,
                self._options,
                queue=queue,
                watch=watch,
                clock=self._waiters.clock,
            )

    def ask(self, queue: str, question_id: UUID, body: bytes, *, timeout: float) -> bytes:
        """See `Broker`. A question repeated with its id finds the answer that was given meanwhile."""
        return self.ask_all(queue, {question_id: body}, timeout=timeout)[question_id]

    def ask_all(self, queue: str, questions: Mapping[UUID, bytes], *, timeout: float) -> Mapping[UUID, bytes]:
        """See `Broker`. One statement puts all questions; the last one open wakes the asker."""
        if not self.exists(queue):
            raise Unavailable("unavailable", f"nobody answers at {queue}: there is no such queue")
        deadline = self._waiters.clock() + timeout
        params = {
            "ids": list(questions),
            "queue": queue,
            "bodies": list(questions.values()),
            "seconds": timeout,
        }
        self._database.run(lambda tx: tx.execute(self._queries["ask"], params), repeatable=True)
        answers: dict[UUID, bytes] = {}
        while open_ids := [asked for asked in questions if asked not in answers]:
            with self._waiters.watch(ANSWERS_CHANNEL, str(open_ids[-1])) as watch:
                answers |= self._taken(open_ids)
                if len(answers) == len(questions):
                    break
                if self._waiters.clock() >= deadline:
                    raise Unavailable("unavailable", f"no answer from {queue} within {timeout:g} s")
                if not watch.wait(min(deadline, self._waiters.clock() + self._options.look)):
                    raise Unavailable("shutting_down", f"stopped waiting for {queue}: the process is ending")
        return answers

    def _taken(self, asked: Sequence[UUID]) -> Mapping[UUID, bytes]:
        rows = self._database.run(
            lambda tx: tx.all(_AnswerRow, self._queries["take_answers"], {"ids": list(asked)})
        )
        return {row.question_id: bytes(row.body) for row in rows}

    def dead_letters(self, queue: str, limit: int = 100) -> Sequence[DeadLetter]:
        """See `Broker`."""
        params = {"queue": queue, "limit": limit}
        rows = self._database.run(
            lambda tx: tx.all(_DeadRow, self._queries["dead_letters"], params), repeatable=True
        )
        return [
            DeadLetter(
                Message(row.message_id, row.topic, bytes(row.body)),
                row.attempts,
                row.reason,
                stored_instant(row.died_at),
            )
            for row in rows
        ]

    def depth(self, queue: str) -> tuple[int, int]:
        """How many messages wait in a queue, and how many are buried."""
        row = self._database.run(
            lambda tx: tx.one(_Depth, self._queries["depth"], {"queue": queue}), repeatable=True
        )
        return row.waiting, row.dead


class _PostgresSubscription:
    def __init__(
        self,
        database: Database,
        queries: Queries,
        options: BrokerOptions,
        *,
        queue: str,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._queries = queries
        self._options = options
        self._queue = queue
        self._watch = watch
        self._clock = clock

    def fetch(self, limit: int, *, wait: float = 0.0) -> Sequence[Delivery]:
        """See `Subscription`."""
        deadline = self._clock() + wait
        while True:
            found = self._fetch(limit)
            if found or self._clock() >= deadline:
                return found
            if not self._watch.wait(min(deadline, self._clock() + self._options.look)):
                return found

    def _fetch(self, limit: int) -> Sequence[Delivery]:
        params = {"queue": self._queue, "limit": limit, "lease": self._options.lease}
        rows = self._database.run(lambda tx: tx.all(_DeliveryRow, self._queries["fetch"], params))
        return [row.delivery() for row in sorted(rows, key=lambda row: row.position)]

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """See `Subscription`."""
        self._settle("ack", deliveries)

    def nack(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """See `Subscription`."""
        pauses = [self._options.back_off.pause(delivery.attempt) for delivery in deliveries]
        self._settle("nack", deliveries, pauses=pauses, reason=reason)

    def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """See `Subscription`."""
        self._settle("reject", deliveries, reason=reason)

    def answer(self, question: Delivery, body: bytes) -> None:
        """See `Subscription`."""
        self.answer_all([(question, body)])

    def answer_all(self, answers: Sequence[tuple[Delivery, bytes]]) -> None:
        """See `Subscription`."""
        if not answers:
            return
        params = {
            "queue": self._queue,
            "positions": [question.position for question, _ in answers],
            "bodies": [body for _, body in answers],
        }
        self._database.run(lambda tx: tx.execute(self._queries["answer"], params), repeatable=True)

    def _settle(self, query: str, deliveries: Sequence[Delivery], **more: object) -> None:
        if not deliveries:
            return
        params: dict[str, object] = {
            "queue": self._queue,
            "positions": [delivery.position for delivery in deliveries],
            "attempts": [delivery.attempt for delivery in deliveries],
        }
        self._database.run(lambda tx: tx.execute(self._queries[query], params | more), repeatable=True)


@dataclass(frozen=True, slots=True)
class _Yes:
    yes: bool


@dataclass(frozen=True, slots=True)
class _Identity:
    identity: str


@dataclass(frozen=True, slots=True)
class _AnswerRow:
    question_id: UUID
    body: bytes


@dataclass(frozen=True, slots=True)
class _Depth:
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True)
class _DeliveryRow:
    position: int
    message_id: UUID
    topic: str
    body: bytes
    attempts: int

    def delivery(self) -> Delivery:
        return Delivery(Message(self.message_id, self.topic, bytes(self.body)), self.position, self.attempts)


@dataclass(frozen=True, slots=True)
class _DeadRow:
    message_id: UUID
    topic: str
    body: bytes
    attempts: int
    reason: str
    died_at: datetime
