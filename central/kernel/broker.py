"""The Broker port: messages between contexts, whatever carries them (docs/wire.md, "Messages").

1. At least once, in any order: a consumer keeps a receipt of the message id, and revisions decide (`inbox`).
2. A queue is durable and named after its consumer; it exists once declared, and whether it does can be
   asked (P29).
3. What is fetched is leased: settled by `ack`, given back by `nack` after a growing pause, buried by
   `reject` or when it was handed out `max_attempts` times. A consumer that dies gives back by silence when
   its lease ends.
4. A question goes to one queue and has one answer; no answer in time is `Unavailable`, never a "no" (X1).
5. An adapter raises `Unavailable` for everything that is not the caller's mistake.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol
from uuid import UUID

from central.kernel.errors import Unavailable
from central.kernel.observability import bound, event

MESSAGE_BYTES_MAX: Final = 2_097_152
"""docs/wire.md: 2 MiB a message, which a Project of 10,000 members is within."""

Act = Literal["publish", "consume", "ask", "answer"]
"""What an identity may be enrolled for: a topic to publish, a queue for the others."""

_LOG: Final = logging.getLogger("central.broker")


@dataclass(frozen=True, slots=True)
class Message:
    """What is published: `id` is the body's own message id, `topic` its type."""

    id: UUID
    topic: str
    body: bytes

    def __post_init__(self) -> None:
        """``ValueError`` for a body no broker takes."""
        if len(self.body) > MESSAGE_BYTES_MAX:
            raise ValueError(f"a message holds at most {MESSAGE_BYTES_MAX} bytes; this has {len(self.body)}")


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A durable queue: its name is its consumer's. A message is buried after `max_attempts` deliveries."""

    name: str
    topics: tuple[str, ...]
    max_attempts: int = 20


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in a consumer's hands. `position` and `attempt` name this very lease."""

    message: Message
    position: int
    attempt: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was buried, and why."""

    message: Message
    attempts: int
    reason: str
    died_at: datetime


class Subscription(Protocol):
    """One consumer at one queue. Not shared between threads."""

    def fetch(self, limit: int, *, wait: float = 0.0) -> Sequence[Delivery]:
        """Leases what is due, oldest first; waits up to `wait` seconds for the first message."""
        ...

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Settles them. A lease that ended meanwhile is not the caller's any more: nothing happens."""
        ...

    def nack(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """Gives them back, each after a pause that doubles with its attempts."""
        ...

    def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """Buries them: no further attempt can succeed."""
        ...

    def answer(self, question: Delivery, body: bytes) -> None:
        """Answers a question and settles it."""
        ...

    def answer_all(self, answers: Sequence[tuple[Delivery, bytes]]) -> None:
        """As `answer`, several at once, all or none."""
        ...


class Broker(Protocol):
    """What carries messages. Safe to share between threads."""

    def declare(self, queue: QueueSpec) -> None:
        """Makes the durable queue or lets it stand; its topics become exactly these."""
        ...

    def exists(self, queue: str) -> bool:
        """Whether the durable queue is there."""
        ...

    def allowed(self, act: Act, name: str) -> bool:
        """Whether this identity is enrolled to do that (P20)."""
        ...

    def publish(self, messages: Sequence[Message]) -> None:
        """Hands every message to every queue bound to its topic, or none of them to any."""
        ...

    def subscribe(self, queue: str) -> AbstractContextManager[Subscription]:
        """Starts consuming a queue that exists."""
        ...

    def ask(self, queue: str, question_id: UUID, body: bytes, *, timeout: float) -> bytes:
        """Puts a question to a queue and returns its answer."""
        ...

    def ask_all(self, queue: str, questions: Mapping[UUID, bytes], *, timeout: float) -> Mapping[UUID, bytes]:
        """As `ask`, several at once: the answer to each, or `Unavailable` when one does not come."""
        ...

    def dead_letters(self, queue: str, limit: int = 100) -> Sequence[DeadLetter]:
        """What was buried in a queue, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class ManyQuestions:
    """How many questions are put: `at_once` of them in the queue, so that others' are answered between, each
    such turn waited for `seconds`.
    """

    at_once: int
    seconds: float


def ask_in_turns(
    broker: Broker, queue: str, questions: Mapping[UUID, bytes], limits: ManyQuestions
) -> Mapping[UUID, bytes]:
    """The answer to each, however many there are; `Unavailable` as soon as a turn's does not come."""
    answers: dict[UUID, bytes] = {}
    asked = list(questions.items())
    for start in range(0, len(asked), limits.at_once):
        turn = dict(asked[start : start + limits.at_once])
        answers |= broker.ask_all(queue, turn, timeout=limits.seconds)
    return answers


@dataclass(frozen=True, slots=True)
class BackOff:
    """The pause before another attempt: doubled each time, up to the longest. Seconds."""

    first: float = 1.0
    longest: float = 300.0

    def pause(self, attempt: int) -> float:
        """The pause after the `attempt`-th attempt failed, counted from 1."""
        return float(min(self.longest, self.first * 2.0 ** min(attempt - 1, 60)))


class MessageRefused(Exception):
    """A message no attempt can apply; it is parked with `code` and the reason (docs/wire.md)."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


Handle = Callable[[Sequence[Message]], None]
"""Applies messages for good, all or none, and may be given them again one by one. `Unavailable`: again later.
`MessageRefused`: never.
"""


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one fetch."""

    applied: int
    retried: int
    refused: int

    @property
    def fetched(self) -> int:
        """How many messages there were."""
        return self.applied + self.retried + self.refused


class Consumer:
    """Feeds the messages of one queue to `handle`: together, and one by one where together fails.

    `check` refuses a message before anything is applied, so that it costs the others nothing.
    """

    def __init__(
        self, queue: str, handle: Handle, *, check: Callable[[Message], None] | None = None, batch: int = 50
    ) -> None:
        self.queue = queue
        self._handle = handle
        self._check = check
        self._batch = batch

    def turn(self, subscription: Subscription, *, wait: float = 0.0) -> Handled:
        """Handles what is due. A message is settled only after its effect was committed (X7)."""
        deliveries = subscription.fetch(self._batch, wait=wait)
        fates: dict[int, _Fate] = {}
        if self._check is not None:
            fates = {
                d.position: fate for d in deliveries if (fate := self._try(d, checking=True)) is not None
            }
        good = [delivery for delivery in deliveries if delivery.position not in fates]
        fates |= self._together(good)
        subscription.ack([delivery for delivery in deliveries if delivery.position not in fates])
        for fate in set(fates.values()):
            some = [delivery for delivery in deliveries if fates.get(delivery.position) == fate]
            (subscription.reject if fate.final else subscription.nack)(some, fate.reason)
        refused = sum(fate.final for fate in fates.values())
        return Handled(len(deliveries) - len(fates), len(fates) - refused, refused)

    def _together(self, deliveries: Sequence[Delivery]) -> "dict[int, _Fate]":
        """What stops which of them. While nothing can be known or written now, nothing is tried again now."""
        try:
            if len(deliveries) > 1:
                self._handle([delivery.message for delivery in deliveries])
                return {}
        except Unavailable as error:
            event(_LOG, "batch_deferred", level=logging.WARNING, queue=self.queue, code=error.code)
            return {delivery.position: _Fate(error.code, final=False) for delivery in deliveries}
        except Exception as error:  # noqa: BLE001 - one of them; each is tried alone and then told apart
            event(_LOG, "batch_failed", level=logging.WARNING, queue=self.queue, kind=type(error).__name__)
        return {d.position: fate for d in deliveries if (fate := self._try(d)) is not None}

    def _try(self, delivery: Delivery, *, checking: bool = False) -> "_Fate | None":
        """What stops this message alone; None if it was applied (or may be)."""
        with bound(messageId=str(delivery.message.id)):
            try:
                if checking and self._check is not None:
                    self._check(delivery.message)
                else:
                    self._handle([delivery.message])
            except MessageRefused as error:
                event(_LOG, "message_refused", level=logging.ERROR, queue=self.queue, reason=str(error))
                return _Fate(str(error), final=True)
            except Unavailable as error:
                event(_LOG, "message_deferred", level=logging.WARNING, queue=self.queue, code=error.code)
                return _Fate(error.code, final=False)
            except Exception as error:  # noqa: BLE001 - one message must not stop the others
                event(_LOG, "message_failed", level=logging.ERROR, queue=self.queue, error=error)
                return _Fate(type(error).__name__, final=False)
        return None

    def run(self, broker: Broker, stop: threading.Event, *, turn_seconds: float = 1.0) -> None:
        """Consumes until `stop` is set; an outage of the broker is waited out with a growing pause."""
        pauses, failures = BackOff(first=0.5, longest=30.0), 0
        while not stop.is_set():
            try:
                with broker.subscribe(self.queue) as subscription:
                    while not stop.is_set():
                        self.turn(subscription, wait=turn_seconds)
                        failures = 0
            except Unavailable as error:
                failures += 1
                event(_LOG, "broker_lost", level=logging.WARNING, queue=self.queue, code=error.code)
            except Exception as error:  # noqa: BLE001 - a thread that ends would stop the queue unnoticed
                failures += 1
                event(_LOG, "consumer_failed", level=logging.ERROR, queue=self.queue, error=error)
            stop.wait(pauses.pause(failures))


@dataclass(frozen=True, slots=True)
class _Fate:
    """Why a message was not applied; `final`: no further attempt can."""

    reason: str
    final: bool
