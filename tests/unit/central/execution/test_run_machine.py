"""Members, worker, Site and Git host in any order, twice, late and at equal times: the Run is what the plain
model says (E1-E5, E7, P27, S1, S2, X7). A minute at most, whole in a soak; every run prints its seed.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.long import examples
from tests.unit.central.execution.machine import RunMachine

TestRun = pytest.mark.soak(RunMachine.TestCase)
TestRun.settings = settings(
    max_examples=examples(250),
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
