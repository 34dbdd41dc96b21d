"""Retained accounts against the model, over PostgreSQL: the same machine, the same answers (P27–P29)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from central.kernel.database import Database, Transaction
from central.kernel.queries import Query
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.ports import WorkStore
from tests.long import examples
from tests.unit.central.retention.machine import RetentionMachine

_EMPTY = (
    Query("empty", b"TRUNCATE retention.accepted_work, retention.consumer_receipts"),
    Query(
        "forget",
        b"UPDATE retention.recovery SET phase = 'none', epoch = 0, owners = '{}', asked_at = NULL, "
        b"held_until = NULL, alive_until = NULL, reason = NULL",
    ),
)


def empty(tx: Transaction) -> None:
    """As a migration leaves it."""
    for query in _EMPTY:
        tx.execute(query)


@pytest.mark.soak
@pytest.mark.parametrize("same", [True, False], ids=["the same lives", "other lives"])
def test_p28_postgresql_answers_as_the_model_says(owner: Database, admin: Database, same: bool) -> None:
    class Here(RetentionMachine):
        def open_store(self) -> WorkStore:
            admin.run(empty)
            return PostgresWork(owner)

    Here.counts = {}
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples(30),
            derandomize=same,
            database=None,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    wanted = ("stood", "changed", "replayed", "silent", "lie", "died after stand", "listed 1")
    assert not same or [name for name in wanted if not Here.counts.get(name)] == []
