"""What Sites confirmed of accounts, as it is stored, for operators: nothing is judged here (O1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant
from central.provisioning.domain.ids import AllocationId

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
