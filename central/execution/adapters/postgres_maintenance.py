"""`Maintenance` in PostgreSQL: one row a Site, the latest statement by the Site's own clock."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from central.execution.domain.maintenance import Statement
from central.kernel.database import Database, Transaction
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant


@dataclass(frozen=True, slots=True)
class _Row:
    statement_id: UUID
    observed_at: datetime
    draining: bool
    until: datetime | None
    reason: str | None


class PostgresMaintenance:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "maintenance.sql")

    def of(self, site: str) -> Statement | None:
        """See `Maintenance`."""
        return self._database.run(lambda tx: self._read(tx, site), repeatable=True)

    def state(self, site: str, statement: Statement, now: datetime) -> bool:
        """See `Maintenance`."""

        def write(tx: Transaction) -> bool:
            tx.execute(self._queries["lock_statement"], {"site": site})
            known = self._read(tx, site)
            if known is not None:
                if known.statement_id == statement.statement_id and known != statement:
                    raise Problem(
                        COMMAND_REUSED, "this statementId said something else before; use a new one"
                    )
                if known.observed_at >= statement.observed_at:
                    return False
            params = {
                "site": site,
                "statement_id": statement.statement_id,
                "observed_at": statement.observed_at,
                "draining": statement.draining,
                "until": statement.until,
                "reason": statement.reason,
                "now": now,
            }
            tx.execute(self._queries["save_statement"], params)
            return True

        return self._database.run(write, repeatable=True)

    def _read(self, tx: Transaction, site: str) -> Statement | None:
        row = tx.maybe(_Row, self._queries["statement"], {"site": site})
        if row is None:
            return None
        said = Statement(
            row.statement_id, stored_instant(row.observed_at), row.draining, row.until, row.reason
        )
        return replace(said, until=stored_instant(row.until)) if row.until is not None else said
