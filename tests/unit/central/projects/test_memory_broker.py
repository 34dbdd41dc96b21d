"""The broker of unit tests holds the port's contract."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from central.kernel.broker import BackOff, Consumer, Message, QueueSpec, Subscription
from central.kernel.errors import Unavailable
from tests.contract.broker_suite import BrokerSuite, Rig
from tests.simulators.beto.memory_broker import MemoryBroker


class TestMemoryBroker(BrokerSuite):
    @pytest.fixture
    def rig(self) -> Rig:
        """Its clock runs as the wall does, and jumps when a test sleeps."""
        jumped = [0.0]

        def sleep(seconds: float) -> None:
            jumped[0] += seconds

        broker = MemoryBroker(
            clock=lambda: time.monotonic() + jumped[0], lease=100.0, back_off=BackOff(10.0, 40.0)
        )
        return Rig(broker, lease=100.0, sleep=sleep)


class Failing(MemoryBroker):
    """Fails in turn before it works: an outage, then a fault of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[Exception] = [Unavailable("database_unavailable", "away"), ZeroDivisionError()]

    @contextmanager
    def subscribe(self, queue: str) -> Iterator[Subscription]:
        if self.failures:
            raise self.failures.pop(0)
        with super().subscribe(queue) as subscription:
            yield subscription


def test_a_running_consumer_outlives_its_broker() -> None:
    broker, handled, stop = Failing(), threading.Event(), threading.Event()
    broker.declare(QueueSpec("suite.mine", ("suite.Changed",)))
    broker.publish([Message(uuid4(), "suite.Changed", b"1")])
    consumer = Consumer("suite.mine", lambda messages: handled.set())
    runner = threading.Thread(target=consumer.run, args=(broker, stop), kwargs={"turn_seconds": 0.1})
    runner.start()
    try:
        assert handled.wait(20)
        assert broker.failures == []
    finally:
        stop.set()
        runner.join(10)
    assert not runner.is_alive()
