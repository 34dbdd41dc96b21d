"""What the driver raises, as the kernel's own errors (F01, F03, F04, X1)."""

from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from central.kernel.driver_errors import (
    ConnectionDied,
    DatabaseUnavailable,
    RightMissing,
    ServerReadOnly,
    StatementRefused,
    TransactionConflict,
    translate,
)

OPEN, CLOSED = (cast("psycopg.Connection[Any]", SimpleNamespace(closed=closed)) for closed in (False, True))


def _said(kind: type[psycopg.Error], state: str | None = None) -> psycopg.Error:
    error = kind("words of a server that are never repeated")
    error.sqlstate = state
    return error


@pytest.mark.parametrize(
    "kind",
    [psycopg.OperationalError, psycopg.InternalError, psycopg.DatabaseError],
    ids=lambda kind: kind.__name__,
)
def test_f04_without_a_state_nothing_was_said_and_the_database_is_unavailable(
    kind: type[psycopg.Error],
) -> None:
    """A link lost amid an answer: libpq makes up a result without one, and psycopg has no class for it."""
    found = translate(_said(kind), "renew", OPEN)
    assert type(found) is DatabaseUnavailable
    assert "renew" in str(found) and "words" not in str(found)


@pytest.mark.parametrize("kind", [psycopg.ProgrammingError, psycopg.DataError, psycopg.InterfaceError])
def test_a_defect_of_ours_is_never_taken_for_an_outage(kind: type[psycopg.Error]) -> None:
    assert type(translate(_said(kind), "renew", OPEN)) is StatementRefused


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        ("40001", TransactionConflict),
        ("40P01", TransactionConflict),
        ("25006", ServerReadOnly),
        ("57P01", ConnectionDied),
        ("08006", ConnectionDied),
        ("53300", DatabaseUnavailable),
        ("58030", DatabaseUnavailable),
        ("42501", RightMissing),
        ("42P01", StatementRefused),
    ],
)
def test_f01_f03_a_state_says_which(state: str, wanted: type[Exception]) -> None:
    assert type(translate(_said(psycopg.DatabaseError, state), "renew", OPEN)) is wanted


def test_f04_a_closed_connection_died_whatever_was_raised() -> None:
    assert type(translate(_said(psycopg.DatabaseError), "renew", CLOSED)) is ConnectionDied
