"""The decision against the model, over dictionaries: thousands of histories, no server (P4–P6, P12)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.long import examples
from tests.unit.central.provisioning.machine import AllocationMachine, Driver
from tests.unit.central.provisioning.memory import MemoryDriver


class MemoryMachine(AllocationMachine):
    """Over the ports in memory."""

    def open_driver(self) -> Driver:
        return MemoryDriver()


TestDecision = pytest.mark.soak(MemoryMachine.TestCase)
TestDecision.settings = settings(
    max_examples=examples(60),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
