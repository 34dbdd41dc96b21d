"""What psycopg raises, as the kernel's own errors. A detail names the query and the SQLSTATE, never a value
(X5).
"""

import psycopg

from central.kernel.errors import Unavailable

_BUSY = frozenset({"55P03", "57014", "53300", "25P03"})


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or written now, or had no time; nothing was committed."""


class TransactionConflict(DatabaseUnavailable):
    """40001 or 40P01: the whole transaction may be run again."""

    def __init__(self, detail: str) -> None:
        super().__init__("database_busy", detail)


class ConnectionDied(DatabaseUnavailable):
    """The connection broke before anything was committed."""

    def __init__(self, detail: str) -> None:
        super().__init__("database_unavailable", detail)


class ServerReadOnly(DatabaseUnavailable):
    """25006: this server is a standby or read-only; another may have taken over."""

    def __init__(self, detail: str) -> None:
        super().__init__("database_unavailable", detail)


class OutcomeUnknown(DatabaseUnavailable):
    """The connection broke during COMMIT: retry with the same command id (X7)."""

    def __init__(self) -> None:
        super().__init__("outcome_unknown", "the connection broke while the change was being committed")


class ConstraintViolated(Exception):
    """A unique, exclusion, foreign key, not-null or check rule refused a row; ``constraint`` is its name."""

    def __init__(self, constraint: str, query: str, sqlstate: str) -> None:
        super().__init__(f"{constraint or 'a rule'} refused a row in query {query} ({sqlstate})")
        self.constraint = constraint


class StatementRefused(Exception):
    """The statement itself is wrong or not permitted: a defect of ours or of the roles."""


class RightMissing(StatementRefused):
    """The login role may not do that (SQLSTATE 42501)."""


def translate(
    error: psycopg.Error, query: str, connection: "psycopg.Connection[tuple[object, ...]]"
) -> Exception:
    """Return the kernel's error for ``error``, raised by ``query`` on ``connection``."""
    state = error.sqlstate or ""
    where = f"query {query} ({state or type(error).__name__})"
    if state in {"40001", "40P01"}:
        return TransactionConflict(f"conflict with another transaction in {where}")
    if state == "25006":
        return ServerReadOnly(f"the server refuses writes in {where}")
    if connection.closed or state[:2] == "08" or state[:3] == "57P":
        return ConnectionDied(f"the connection broke in {where}")
    if state in _BUSY or state[:2] == "53":
        return DatabaseUnavailable("database_busy", f"no time or room in {where}")
    if state[:2] == "58" or (not state and _is_of_the_link(error)):
        return DatabaseUnavailable("database_unavailable", f"the server failed in {where}")
    if state[:2] == "23":
        return ConstraintViolated(error.diag.constraint_name or "", query, state)
    reason = f": {error.diag.message_primary}" if state[:2] == "42" else ""
    kind = RightMissing if state == "42501" else StatementRefused
    return kind(f"the server refused {where}{reason}")


def _is_of_the_link(error: psycopg.Error) -> bool:
    """Without an SQLSTATE it is no word of the server's: libpq lost the link, or what came was cut off.
    A result it makes up for that has no class of its own (`psycopg.DatabaseError` itself).
    """
    return type(error) is psycopg.DatabaseError or isinstance(
        error, (psycopg.OperationalError, psycopg.InternalError)
    )
