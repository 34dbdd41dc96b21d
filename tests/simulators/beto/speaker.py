"""A speaker as a thread at the broker: answers questions at its queue until it is stopped; silent when told
to be.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from central.kernel.broker import Broker, Delivery, QueueSpec
from tests.simulators.beto.beto import QUESTIONS
from tests.simulators.mouth import Faults, QuestionMalformed

AT_ONCE = 50
"""Questions answered together."""


class Speaker(Protocol):
    """Beto, or an owner of accepted work."""

    faults: Faults

    def answer(self, body: bytes) -> bytes:
        """The answer's bytes. Raises `QuestionMalformed`."""
        ...


@contextmanager
def speaking(beto: Speaker, broker: Broker, queue: str = QUESTIONS) -> Iterator[list[QuestionMalformed]]:
    """Answers while the block runs. Yields the malformed questions it met, each of them a fault of the
    asker.
    """
    broker.declare(QueueSpec(queue, ()))
    stop, malformed = threading.Event(), list[QuestionMalformed]()
    thread = threading.Thread(target=_answer, args=(beto, broker, queue, stop, malformed), daemon=True)
    thread.start()
    try:
        yield malformed
    finally:
        stop.set()
        thread.join(10)


def _answer(
    beto: Speaker,
    broker: Broker,
    queue: str,
    stop: threading.Event,
    malformed: list[QuestionMalformed],
) -> None:
    with broker.subscribe(queue) as subscription:
        while not stop.is_set():
            answers: list[tuple[Delivery, bytes]] = []
            for question in subscription.fetch(AT_ONCE, wait=0.2):
                if beto.faults.silent:
                    subscription.nack([question], "silent")
                    continue
                try:
                    answer = beto.answer(question.message.body)
                except QuestionMalformed as error:
                    malformed.append(error)
                    subscription.reject([question], f"query_malformed: {error}")
                else:
                    answers.append((question, answer))
            subscription.answer_all(answers)
