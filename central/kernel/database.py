"""PostgreSQL through psycopg 3: the one edge where driver errors end (F01, F03, F04, F05, O4, X7)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from central.kernel.errors import Unavailable
from central.kernel.queries import Query

T = TypeVar("T")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """How one process uses its database. ``prepare_threshold=None`` is for a transaction pooler (F05)."""

    url: str = field(repr=False)
    application: str = "pharos"
    pool_size: int = 4
    pool_timeout_seconds: float = 5.0
    connect_timeout_seconds: int = 5
    statement_timeout_seconds: int = 30
    prepare_threshold: int | None = 1
    attempts: int = 5


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or written now, or had no time; nothing was committed."""


class OutcomeUnknown(Unavailable):
    """The connection broke during COMMIT: retry with the same command id (X7)."""


class ConstraintViolated(Exception):
    """A unique, foreign key or check constraint refused a row; ``constraint`` is its name."""

    constraint: str


class Transaction:
    """One open transaction. Parameters are named: ``%(name)s`` in the SQL file. Use it only inside ``run``."""

    def execute(self, query: Query, params: Mapping[str, object] | None = None) -> int:
        """Run a statement and return the number of rows it touched."""
        raise NotImplementedError

    def all(self, row: type[Row], query: Query, params: Mapping[str, object] | None = None) -> list[Row]:
        """Return every row as ``row``, a dataclass whose fields are named like the columns."""
        raise NotImplementedError

    def maybe(self, row: type[Row], query: Query, params: Mapping[str, object] | None = None) -> Row | None:
        """Return the one row or None; more than one is ``CorruptState``."""
        raise NotImplementedError

    def one(self, row: type[Row], query: Query, params: Mapping[str, object] | None = None) -> Row:
        """Return exactly one row; none or several is ``CorruptState``."""
        raise NotImplementedError


class Database:
    """A connection pool of one process, opened after fork (F10)."""

    def __init__(self, options: DatabaseOptions) -> None:
        self.options = options

    def open(self) -> None:
        """Start the pool; does not wait for a connection (``/readyz`` tells)."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every connection."""
        raise NotImplementedError

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open one transaction, committed at the end of the block; no retry."""
        yield NotImplemented

    def run(self, work: Callable[[Transaction], T], *, repeatable: bool = False) -> T:
        """Run ``work`` in one transaction and return its value.

        40001 and 40P01 run it again as a whole (F01); a connection found dead before COMMIT, once more on a
        new one (F04). ``work`` must do nothing outside the transaction. ``repeatable`` promises that running it
        again after an unknown commit is harmless (a command with a receipt, a read), so that case is retried
        too; otherwise it raises ``OutcomeUnknown``.
        """
        raise NotImplementedError

    def check_ready(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database answers and accepts writes (F03)."""
        raise NotImplementedError
