"""What Sites confirmed of accounts, as it is stored, for operators: nothing is judged here (O1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant
from central.provisioning.domain.ids import AllocationId

_FIRST: Final = UUID(int=0)
STATES = {"r": "ready", "i": "incomplete", "a": "absent"}


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """An account the Site confirmed once. `state`: `ready`, `incomplete`, or `absent` from the set that
    stands.
    """

    allocation_id: UUID
    party_id: UUID
    binding_id: UUID
    generation: int
    native_uid: str
    name: str
    uid_number: int | None
    state: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class KnownSet:
    """An allocation's complete set, and every account of it, absent ones too."""

    observed_at: datetime
    accounts: Sequence[KnownAccount]


@dataclass(frozen=True, slots=True)
class SiteAccount:
    """An account, and when the set it is or was in was last confirmed."""

    account: KnownAccount
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class AccountPlace:
    """Where a list of accounts goes on: the key of its last one. The default is before every account."""

    allocation: UUID = _FIRST
    party: UUID = _FIRST
    binding: UUID = _FIRST
    generation: int = 0
    native_uid: str = ""

    @classmethod
    def of(cls, account: KnownAccount) -> "AccountPlace":
        """An account's."""
        return cls(
            account.allocation_id,
            account.party_id,
            account.binding_id,
            account.generation,
            account.native_uid,
        )


class AccountEvidence:
    """The reads, each in one snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning", "evidence.sql")

    def of_allocations(self, ids: Collection[AllocationId]) -> Mapping[AllocationId, KnownSet]:
        """The sets of these allocations, as far as one was ever reported."""
        params = {"ids": list(ids)}

        def read(tx: Transaction) -> Mapping[AllocationId, KnownSet]:
            sets = tx.all(_SetRow, self._queries["account_sets"], params)
            accounts: dict[UUID, list[KnownAccount]] = {}
            for row in tx.all(_AccountRow, self._queries["accounts"], params):
                accounts.setdefault(row.allocation_id, []).append(row.known())
            return {
                AllocationId(row.allocation_id): KnownSet(
                    stored_instant(row.observed_at), accounts.get(row.allocation_id, [])
                )
                for row in sets
            }

        return self._database.run(read, repeatable=True)

    def of_site(self, site: str, after: "AccountPlace", limit: int) -> Sequence[SiteAccount]:
        """The next accounts a Site ever confirmed, in the order of their places."""
        params = {**asdict(after), "site": site, "limit": limit}
        rows = self._database.run(
            lambda tx: tx.all(_SiteAccountRow, self._queries["accounts_of_site"], params), repeatable=True
        )
        return [SiteAccount(row.known(), stored_instant(row.observed_at)) for row in rows]


@dataclass(frozen=True, slots=True)
class _SetRow:
    allocation_id: UUID
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class _AccountRow:
    allocation_id: UUID
    party_id: UUID
    binding_id: UUID
    generation: int
    native_uid: str
    name: str
    uid_number: int | None
    state: str
    changed_at: datetime

    def known(self) -> KnownAccount:
        return KnownAccount(
            self.allocation_id,
            self.party_id,
            self.binding_id,
            self.generation,
            self.native_uid,
            self.name,
            self.uid_number,
            STATES[self.state],
            stored_instant(self.changed_at),
        )


@dataclass(frozen=True, slots=True)
class _SiteAccountRow(_AccountRow):
    observed_at: datetime
