"""PostgreSQL through psycopg 3: a pool, transactions, and the rules of running one again.

1. The pool opens after fork, in the process that uses it (F10).
2. 40001 and 40P01 run the whole transaction again (F01).
3. A connection found dead before COMMIT, or silent for longer than any statement may take, is replaced and
   the work runs again, ``replacements`` times (F04).
4. A server that refuses writes (25006) loses its connections; the work runs again on new ones (F03).
5. A connection lost *during* COMMIT is an unknown outcome, retried only for repeatable work (X7).
6. Nothing here sets session state, so a transaction pooler may stand between (F05, O4); timeouts are set on
   the roles by the migrations.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.rows import RowMaker, class_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from central.kernel import binary_arrays
from central.kernel.driver_errors import (
    ConnectionDied,
    DatabaseUnavailable,
    OutcomeUnknown,
    ServerReadOnly,
    TransactionConflict,
    translate,
)
from central.kernel.errors import CorruptState
from central.kernel.queries import Query, load_queries

T = TypeVar("T")
Row = TypeVar("Row")
Params = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """How one process uses its database. ``prepare_threshold=None`` is for a transaction pooler (F05)."""

    url: str = field(repr=False)
    application: str = "pharos"
    pool_size: int = 4
    pool_timeout_seconds: float = 5.0
    connect_timeout_seconds: int = 5
    answer_seconds: float = 35.0  # more than the roles' statement_timeout: later the server has fallen silent
    reconnect_seconds: float = 5.0
    prepare_threshold: int | None = 1
    attempts: int = 6
    replacements: int = 2  # the first may be one whose connecting had begun before the others died


class Transaction:
    """One open transaction. Parameters are named, ``%(name)s``; a literal percent sign is written ``%%``."""

    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        self._connection = connection

    def execute(self, query: Query, params: Params | None = None) -> int:
        """Run a statement and return the number of rows it touched."""
        try:
            return self._connection.execute(query.statement, params or {}).rowcount
        except psycopg.Error as error:
            raise translate(error, query.name, self._connection) from None

    def all(self, row: type[Row], query: Query, params: Params | None = None) -> list[Row]:
        """Return every row as ``row``, a dataclass whose fields are named like the columns."""
        try:
            with self._connection.cursor(row_factory=_rows_of(row)) as cursor:
                return cursor.execute(query.statement, params or {}).fetchall()
        except psycopg.Error as error:
            raise translate(error, query.name, self._connection) from None

    def maybe(self, row: type[Row], query: Query, params: Params | None = None) -> Row | None:
        """Return the one row or None; several are ``CorruptState``."""
        rows = self.all(row, query, params)
        if len(rows) > 1:
            raise CorruptState(f"{query.name} found {len(rows)} rows where at most one may exist")
        return rows[0] if rows else None

    def one(self, row: type[Row], query: Query, params: Params | None = None) -> Row:
        """Return exactly one row; none or several are ``CorruptState``."""
        found = self.maybe(row, query, params)
        if found is None:
            raise CorruptState(f"{query.name} found no row where one must exist")
        return found


def _rows_of(row: type[Row]) -> "Callable[[psycopg.Cursor[Any]], RowMaker[Row]]":
    """Columns as fields by name; where their order is the fields' too, without a mapping each row."""
    by_name = class_row(row)
    names = [each.name for each in fields(row)] if is_dataclass(row) else None

    def make(cursor: "psycopg.Cursor[Any]") -> RowMaker[Row]:
        if cursor.description is None or [column.name for column in cursor.description] != names:
            return by_name(cursor)
        return lambda values: row(*values)

    return make


@dataclass(frozen=True, slots=True)
class _Acting:
    login: str
    yes: bool


@dataclass(frozen=True, slots=True)
class _Writable:
    writable: bool


def _waiting_at_most(seconds: float) -> "type[psycopg.Connection[tuple[object, ...]]]":
    """Connections that wait so long for an answer. A server that stands still keeps its connections open, and
    acknowledges what it never reads (TCP's keepalive notices nothing).
    """

    class Bounded(psycopg.Connection[tuple[object, ...]]):
        def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
            try:
                return super().wait(gen, interval, seconds if timeout is None else timeout)
            except psycopg.errors._WaitTimeout:
                self.pgconn.finish()  # whatever it says after this is no answer to anything
                raise

    return Bounded


class Database:
    """A connection pool of one process."""

    def __init__(self, options: DatabaseOptions, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.options = options
        self._sleep = sleep
        self._lock = threading.Lock()
        self._lent = 0
        self._queries = load_queries("central.kernel", "database.sql")
        self._pool = ConnectionPool(
            options.url,
            connection_class=_waiting_at_most(options.answer_seconds),
            min_size=1,
            max_size=options.pool_size,
            timeout=options.pool_timeout_seconds,
            reconnect_timeout=options.reconnect_seconds,
            open=False,
            name=options.application,
            configure=binary_arrays.register,
            kwargs={
                "autocommit": True,
                "prepare_threshold": options.prepare_threshold,
                "connect_timeout": options.connect_timeout_seconds,
                "application_name": options.application,
                "keepalives_idle": 30,
                "keepalives_interval": 10,
                "keepalives_count": 3,
            },
        )

    def open(self) -> None:
        """Start the pool; does not wait for a connection (``check_ready`` tells)."""
        self._pool.open(wait=False)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close(timeout=5)

    def __enter__(self) -> "Database":
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open one transaction, committed at the end of the block; nothing is run again."""
        with self._connection() as connection:
            committing = False
            try:
                with connection.transaction():
                    yield Transaction(connection)
                    committing = True
            except psycopg.Error as error:
                failure = translate(error, "commit" if committing else "transaction", connection)
                if committing and isinstance(failure, ConnectionDied):
                    raise OutcomeUnknown from None
                raise failure from None

    @contextmanager
    def _connection(self) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
        try:
            connection = self._pool.getconn()
        except PoolTimeout:
            raise DatabaseUnavailable(
                "database_busy" if self._lent >= self.options.pool_size else "database_unavailable",
                f"no connection within {self.options.pool_timeout_seconds:g} s",
            ) from None
        except PoolClosed:
            raise DatabaseUnavailable("shutting_down", "the connection pool is closed") from None
        try:
            self._count(1)
            yield connection
        finally:
            self._count(-1)
            self._pool.putconn(connection)

    def _count(self, change: int) -> None:
        with self._lock:
            self._lent += change

    @property
    def lent(self) -> int:
        """How many connections are in use now; at ``pool_size`` the next caller waits."""
        return self._lent

    def run(self, work: Callable[[Transaction], T], *, repeatable: bool = False) -> T:
        """Run ``work`` in one transaction and return its value (rules 2 to 5).

        ``work`` touches nothing outside the transaction, for it may run several times. ``repeatable``
        promises that running it again after an unknown commit is harmless: a read, or a command with a
        receipt.
        """
        conflicts = replaced = 0
        while True:
            try:
                with self.transaction() as tx:
                    return work(tx)
            except TransactionConflict:
                conflicts += 1
                if conflicts == self.options.attempts:
                    raise
                self._sleep(random.uniform(0, 0.005 * 2**conflicts))  # noqa: S311 - jitter, no secret
            except (ConnectionDied, ServerReadOnly, OutcomeUnknown) as error:
                unknown = isinstance(error, OutcomeUnknown) and not repeatable
                if unknown or replaced == self.options.replacements:
                    raise
                replaced += 1
                self._pool.drain()

    def acting(self, role: str) -> tuple[str, bool]:
        """Who is logged in, and whether with the rights of `role` (P37). Raises ``DatabaseUnavailable``."""
        found = self.run(
            lambda tx: tx.one(_Acting, self._queries["acts_as"], {"role": role}), repeatable=True
        )
        return found.login, found.yes

    def check_ready(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database answers and accepts writes (F03)."""
        state = self.run(lambda tx: tx.one(_Writable, self._queries["is_writable"]), repeatable=True)
        if not state.writable:
            self._pool.drain()
            raise ServerReadOnly("the server is in recovery or read-only")
