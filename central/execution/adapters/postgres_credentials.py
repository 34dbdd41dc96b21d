"""Which credentials of the Git host were asked for, in PostgreSQL; nothing of a credential itself."""

from datetime import datetime
from uuid import UUID

from central.execution.application.worker_ports import GivenCredential
from central.kernel.database import Database
from central.kernel.queries import load_queries


class PostgresCredentials:
    """The store. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "credentials.sql")

    def remember(self, given: GivenCredential, now: datetime) -> None:
        """Notes that a credential is about to be asked for; one taken back before stands again."""
        params = {
            "credential_id": given.credential_id,
            "run_id": given.run_id,
            "purpose": given.purpose,
            "now": now,
        }
        self._database.run(lambda tx: tx.execute(self._queries["remember"], params), repeatable=True)

    def outstanding(self, after: UUID | None, limit: int) -> list[GivenCredential]:
        """Those not taken back yet, by id."""
        params = {"after": after, "limit": limit}
        return self._database.run(
            lambda tx: tx.all(GivenCredential, self._queries["outstanding"], params), repeatable=True
        )

    def revoked(self, credential_id: UUID, now: datetime) -> None:
        """Notes that one was taken back."""
        params = {"credential_id": credential_id, "now": now}
        self._database.run(lambda tx: tx.execute(self._queries["revoked"], params), repeatable=True)
