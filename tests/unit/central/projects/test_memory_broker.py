"""The broker of unit tests holds the port's contract."""

from __future__ import annotations

import time

import pytest

from central.kernel.broker import BackOff
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
