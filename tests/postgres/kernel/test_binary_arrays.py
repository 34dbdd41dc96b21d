"""Arrays in binary form, as PostgreSQL reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from central.kernel.binary_arrays import integer_array, uuid_array, uuid_text_array
from central.kernel.database import Database
from central.kernel.queries import Query


@dataclass(frozen=True, slots=True)
class Echo:
    """What came back."""

    found: list[object]


UUIDS = Query("uuids", b"SELECT %(given)s::uuid[] AS found")
INTEGERS = Query("integers", b"SELECT %(given)s::integer[] AS found")


def echoed(database: Database, query: Query, given: object) -> list[object]:
    return database.run(lambda tx: tx.one(Echo, query, {"given": given})).found


@pytest.mark.parametrize("values", [[], [uuid4()], [uuid4() for _ in range(3000)], [None], [uuid4(), None]])
def test_uuids(database: Database, values: Sequence[UUID | None]) -> None:
    assert echoed(database, UUIDS, uuid_array(values)) == values
    texts = [str(value) for value in values if value is not None]
    assert echoed(database, UUIDS, uuid_text_array(texts)) == [value for value in values if value is not None]


@pytest.mark.parametrize("values", [[], [0], [1, -1, 2**31 - 1, -(2**31)]])
def test_integers(database: Database, values: list[int]) -> None:
    assert echoed(database, INTEGERS, integer_array(values)) == values
