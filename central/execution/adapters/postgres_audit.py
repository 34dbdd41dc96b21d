"""`Audit` in PostgreSQL: one row a subject, permission and actor (E7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.domain.permission import Permission
from central.kernel.database import Database
from central.kernel.queries import load_queries


@dataclass(frozen=True, slots=True)
class KnownUse:
    """Who used a permission, when first, and when last (to the minute)."""

    permission: str
    actor: UUID
    first_at: datetime
    last_at: datetime


class PostgresAudit:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "audit.sql")

    def note(self, subject: UUID, permission: Permission, actor: UUID, now: datetime) -> None:
        """See `Audit`."""
        params = {"subject": subject, "permission": permission.value, "actor": actor, "now": now}
        self._database.run(lambda tx: tx.execute(self._queries["note"], params), repeatable=True)

    def uses(self, subject: UUID) -> Sequence[KnownUse]:
        """Every use on a Run, or on a Project's Runs, the first ones first."""
        params = {"subject": subject}
        return self._database.run(lambda tx: tx.all(KnownUse, self._queries["uses"], params), repeatable=True)
