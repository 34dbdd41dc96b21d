"""`Consents` in PostgreSQL. The row's lock is held while the issuer is asked: one refresh at a time (K09)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.adapters.sealed import Seal
from central.execution.domain.consent import Consent
from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant


@dataclass(frozen=True, slots=True)
class _Row:
    sealed: bytes
    consented_at: datetime
    refreshed_at: datetime
    ended_at: datetime | None
    code_digest: bytes | None


@dataclass(frozen=True, slots=True)
class _Standing:
    stands: bool


class PostgresConsented:
    """`Consented` for a process that may see whether a consent stands and nothing of its tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "consents.sql")

    def stands(self, party: UUID) -> bool:
        """See `Consented`."""
        return self._database.run(
            lambda tx: tx.one(_Standing, self._queries["standing"], {"party": party}), repeatable=True
        ).stands


class PostgresConsents:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal
        self._queries = load_queries("central.execution", "consents.sql")

    def read(self, party: UUID) -> Consent | None:
        """See `Consents`."""
        row = self._database.run(
            lambda tx: tx.maybe(_Row, self._queries["consent"], {"party": party}), repeatable=True
        )
        return None if row is None else self._consent(party, row)

    def change(self, party: UUID, change: Callable[[Consent | None], Consent]) -> Consent:
        """See `Consents`. Not repeated after a conflict: the issuer is asked once."""
        with self._database.transaction() as tx:
            return self._change(tx, party, change)

    def _change(self, tx: Transaction, party: UUID, change: Callable[[Consent | None], Consent]) -> Consent:
        tx.execute(self._queries["lock_party"], {"party": str(party)})
        row = tx.maybe(_Row, self._queries["consent"], {"party": party})
        before = None if row is None else self._consent(party, row)
        after = change(before)
        if after != before:
            tx.execute(
                self._queries["save_consent"],
                {
                    "party": party,
                    "sealed": self._seal.close(str(party), after.tokens),
                    "consented_at": after.consented_at,
                    "refreshed_at": after.refreshed_at,
                    "ended_at": after.ended_at,
                    "code_digest": after.code_digest,
                },
            )
        return after

    def _consent(self, party: UUID, row: _Row) -> Consent:
        return Consent(
            tokens=self._seal.open(str(party), bytes(row.sealed)),
            consented_at=stored_instant(row.consented_at),
            refreshed_at=stored_instant(row.refreshed_at),
            ended_at=stored_instant(row.ended_at) if row.ended_at is not None else None,
            code_digest=bytes(row.code_digest) if row.code_digest is not None else None,
        )
