"""What the database holds on one key, for people who ask why (O1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant
from central.ssh_access.adapters.rows import KeyRow
from central.ssh_access.application.ports import KeyUnknown
from central.ssh_access.domain.member_key import MemberKey


@dataclass(frozen=True, slots=True)
class KeyEvidence:
    """A key with its last change. `listed`: a Site that starts from nothing is told of it."""

    key: MemberKey
    sequence: int
    recorded_at: datetime
    listed: bool
    head: int


@dataclass(frozen=True, slots=True)
class _ChangeRow:
    sequence: int
    recorded_at: datetime
    listed: bool
    head: int


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """How many of a member's keys are in each state at a Site; when the Site last spoke of any; the names of
    the accounts they are for, None where none is known.
    """

    member: str
    active: int
    pending: int
    removing: int
    removed: int
    held: int
    refused: int
    reported_at: datetime | None
    accounts: str | None


def key_counts(database: Database, site: str, after: str, limit: int) -> Sequence[KeyCounts]:
    """The next members of a Site who ever had a key there, by name."""
    queries = load_queries("central.ssh_access")
    params = {"site": site, "after": after, "limit": limit}
    return database.run(lambda tx: tx.all(KeyCounts, queries["key_counts"], params), repeatable=True)


def keys_of_member(database: Database, site: str, member: str) -> Sequence[MemberKey]:
    """Every key a member ever had at a Site, the oldest first."""
    queries = load_queries("central.ssh_access")
    params = {"site": site, "member": member}
    rows = database.run(lambda tx: tx.all(KeyRow, queries["keys_of_member_at_site"], params), repeatable=True)
    return [row.key() for row in rows]


def key_evidence(database: Database, key_id: UUID) -> KeyEvidence:
    """Reads it in one transaction. Raises `KeyUnknown`."""
    queries = load_queries("central.ssh_access")

    def read(tx: Transaction) -> KeyEvidence:
        row = tx.maybe(KeyRow, queries["key_by_id"], {"key_id": key_id})
        if row is None:
            raise KeyUnknown
        change = tx.one(_ChangeRow, queries["last_change"], {"change_id": row.change_id})
        return KeyEvidence(
            key=row.key(),
            sequence=change.sequence,
            recorded_at=stored_instant(change.recorded_at),
            listed=change.listed,
            head=change.head,
        )

    return database.run(read, repeatable=True)
