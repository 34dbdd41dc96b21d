"""The machine of `machine`, run against PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from central.kernel.database import Database
from central.kernel.queries import Query
from central.projects.entrypoints.events import QUEUES
from tests.long import examples
from tests.postgres.projects.conftest import View
from tests.postgres.projects.machine import Life
from tests.simulators.beto.beto import Beto, Clock
from tests.simulators.beto.memory_broker import MemoryBroker

_EMPTY = Query(
    "empty",
    b"TRUNCATE projects.items, projects.project_bindings, projects.party_bindings, projects.memberships, "
    b"projects.consumer_receipts",
)
_FORGET = Query(
    "forget",
    b"UPDATE projects.scopes SET phase = 'uninitialised', epoch = 0, position = NULL, checked_at = NULL, "
    b"held_until = NULL, reason = NULL",
)


@pytest.mark.soak
@pytest.mark.parametrize("same", [True, False], ids=["the same lives", "other lives"])
def test_after_every_fault_a_repair_makes_the_view_betos_truth(
    owner: Database, admin: Database, same: bool
) -> None:
    """The same lives each time show that every kind of pass is met; others look for what nobody thought
    of.
    """
    counts: dict[str, int] = {"events": 0}

    def make_view() -> tuple[View, Callable[[], None]]:
        admin.run(lambda tx: tx.execute(_EMPTY))
        admin.run(lambda tx: tx.execute(_FORGET))
        clock = Clock()
        broker = MemoryBroker()
        for queue in QUEUES:
            broker.declare(queue)
        return View(owner, broker, Beto(clock=clock), clock), lambda: None

    class Here(Life):
        pass

    Here.make_view = staticmethod(make_view)
    Here.counts = counts
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples(30 if same else 15),
            derandomize=same,
            database=None,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
    for happened in () if not same else ("events", "loaded", "repaired", "matched", "compared", "faithful"):
        assert counts.get(happened, 0) > 0, f"the run never saw one: {happened}"
