"""A pass under its lease: whose turn it is, what it meets, and that the lease comes back (O3)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.leases import Leases
from central.processes.leased_passes import LeasedPasses, Turn

LOG = logging.getLogger("central.trial")
HOUR, NEVER = timedelta(hours=1), timedelta(0)


def fails(error: Exception) -> None:
    raise error


def test_o3_one_replica_does_a_pass_that_is_due(database: Database) -> None:
    one, other = (LeasedPasses(Leases(database), CollectorRegistry(), LOG) for _ in range(2))
    done: list[str] = []

    def work() -> None:
        done.append("one")
        meanwhile = other.turn("trial", lambda: done.append("other"), every=NEVER, hold=HOUR)
        assert meanwhile is Turn.NOT_DUE

    assert one.turn("trial", work, every=HOUR, hold=HOUR) is Turn.DONE
    assert other.turn("trial", lambda: done.append("other"), every=HOUR, hold=HOUR) is Turn.NOT_DUE
    assert done == ["one"]


@pytest.mark.parametrize(
    ("error", "turn", "told"),
    [
        (Unavailable("unavailable", "trial"), Turn.UNAVAILABLE, "pass_unavailable"),
        (RuntimeError("trial"), Turn.FAILED, "pass_failed"),
    ],
)
def test_o3_what_a_pass_meets_is_told_and_its_lease_comes_back(
    database: Database, caplog: pytest.LogCaptureFixture, error: Exception, turn: Turn, told: str
) -> None:
    registry = CollectorRegistry()
    passes = LeasedPasses(Leases(database), registry, LOG)
    assert passes.turn("trial", lambda: fails(error), every=NEVER, hold=HOUR) is turn
    assert told in caplog.messages
    assert passes.turn("trial", lambda: None, every=NEVER, hold=HOUR) is Turn.DONE
    assert registry.get_sample_value("pharos_pass_missed", {"name": "trial"}) == 0
