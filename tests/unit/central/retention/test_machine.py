"""Retained accounts against the model, over dictionaries: thousands of histories, no server (P27–P29)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from central.retention.application.ports import WorkStore
from tests.long import examples
from tests.unit.central.retention.machine import RetentionMachine
from tests.unit.central.retention.memory import MemoryWork

HAPPENED = (
    "stood",
    "held",
    "changed",
    "replayed",
    "consumer died",
    "silent",
    "gone",
    "lie",
    "malformed",
    "no queue",
    "start between",
    "doubt between",
    "deliver between",
    "died after put",
    "died before stand",
    "died after stand",
    "listed 0",
    "listed 1",
    "listed 2",
    "recovery_pending",
    "unavailable",
)
"""What a run of the same lives must have met."""


@pytest.mark.soak
@pytest.mark.parametrize("same", [True, False], ids=["the same lives", "other lives"])
def test_p28_a_site_is_answered_a_complete_list_or_none(same: bool) -> None:
    class Here(RetentionMachine):
        def open_store(self) -> WorkStore:
            return MemoryWork()

    Here.counts = {}
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples(250),
            derandomize=same,
            database=None,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    assert not same or [name for name in HAPPENED if not Here.counts.get(name)] == []
