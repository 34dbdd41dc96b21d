"""How often a transaction is run again when conflicts and lost connections come mixed (F01, F04, X7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.kernel.database import Database, DatabaseOptions, Transaction
from central.kernel.driver_errors import (
    ConnectionDied,
    DatabaseUnavailable,
    OutcomeUnknown,
    ServerReadOnly,
    TransactionConflict,
)

OPTIONS = DatabaseOptions("postgresql://nobody@/nothing")
CONFLICT, *LOST = (
    lambda: TransactionConflict("40001"),
    lambda: ConnectionDied("08006"),
    lambda: ServerReadOnly("25006"),
    OutcomeUnknown,
)


class Scripted(Database):
    """Each try ends as the script says; after its end each is well."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(OPTIONS, sleep=lambda _seconds: None)
        self.script, self.tries = list(script), 0

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        self.tries += 1
        if self.script:
            raise self.script.pop(0)()
        yield cast("Transaction", None)


@given(st.lists(st.sampled_from((CONFLICT, CONFLICT, *LOST)), max_size=12))
def test_f01_f04_each_kind_is_tried_again_as_often_as_it_may_whatever_came_between(script: list[Any]) -> None:
    """The last failure is told as what it was: never a fault of ours."""
    conflicts = lost = 0
    ends = None
    for number, failure in enumerate(script, 1):
        conflicts, lost = conflicts + (failure is CONFLICT), lost + (failure is not CONFLICT)
        if conflicts == OPTIONS.attempts or lost > OPTIONS.replacements:
            ends = number
            break
    database = Scripted(script)
    if ends is None:
        assert database.run(lambda _tx: "done", repeatable=True) == "done"
        assert database.tries == len(script) + 1
        return
    with pytest.raises(DatabaseUnavailable) as told:
        database.run(lambda _tx: "done", repeatable=True)
    assert type(told.value) is type(script[ends - 1]())
    assert database.tries == ends


def test_x7_an_unknown_outcome_is_not_tried_again_unless_that_is_harmless() -> None:
    database = Scripted([CONFLICT, OutcomeUnknown])
    with pytest.raises(OutcomeUnknown):
        database.run(lambda _tx: "done")
    assert database.tries == 2
