"""`Grants` in PostgreSQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.grants.application.ports import GrantUnknown
from central.grants.domain.grant import GRANT_LIMITS, Grant, Scope
from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant


@dataclass(frozen=True, slots=True)
class GrantRow:
    """`site_grants.grants`."""

    grant_id: UUID
    site: str
    scopes: list[str]
    secret_digest: bytes
    issued_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def grant(self) -> Grant:
        """The row as a domain value."""
        return Grant(
            grant_id=self.grant_id,
            site=self.site,
            scopes=tuple(sorted(Scope(scope) for scope in self.scopes)),
            secret_digest=bytes(self.secret_digest),
            issued_at=stored_instant(self.issued_at),
            expires_at=_instant(self.expires_at),
            revoked_at=_instant(self.revoked_at),
            last_used_at=_instant(self.last_used_at),
        )


def _instant(value: datetime | None) -> datetime | None:
    return stored_instant(value) if value is not None else None


class PostgresGrants:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.grants")

    def issue(self, site: str, decide: Callable[[Sequence[Grant]], Grant]) -> Grant:
        """See `Grants`."""

        def work(tx: Transaction) -> Grant:
            tx.execute(self._queries["lock_site"], {"site": site})
            rows = tx.all(GrantRow, self._queries["grants_of_site"], {"site": site})
            grant = decide([row.grant() for row in rows])
            tx.execute(
                self._queries["insert_grant"],
                {
                    "grant_id": grant.grant_id,
                    "site": grant.site,
                    "scopes": [scope.value for scope in grant.scopes],
                    "secret_digest": grant.secret_digest,
                    "issued_at": grant.issued_at,
                    "expires_at": grant.expires_at,
                },
            )
            return grant

        return self._database.run(work)

    def everything(self) -> Sequence[Grant]:
        """See `Grants`."""
        rows = self._database.run(lambda tx: tx.all(GrantRow, self._queries["all_grants"]), repeatable=True)
        return [row.grant() for row in rows]

    def find(self, grant_id: UUID) -> Grant | None:
        """See `Grants`."""
        row = self._database.run(
            lambda tx: tx.maybe(GrantRow, self._queries["grant_by_id"], {"grant_id": grant_id}),
            repeatable=True,
        )
        return row.grant() if row else None

    def touch(self, grant_id: UUID, now: datetime) -> None:
        """See `Grants`."""
        params = {"grant_id": grant_id, "now": now, "resolution": GRANT_LIMITS.use_resolution}
        self._database.run(lambda tx: tx.execute(self._queries["touch_grant"], params), repeatable=True)

    def revoke(self, grant_id: UUID, now: datetime) -> Grant:
        """See `Grants`."""

        def work(tx: Transaction) -> Grant:
            tx.execute(self._queries["revoke_grant"], {"grant_id": grant_id, "now": now})
            row = tx.maybe(GrantRow, self._queries["grant_by_id"], {"grant_id": grant_id})
            if row is None:
                raise GrantUnknown
            return row.grant()

        return self._database.run(work, repeatable=True)
