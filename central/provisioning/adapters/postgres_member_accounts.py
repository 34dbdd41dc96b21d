"""`MemberAccountReads` in PostgreSQL: one statement a question, whatever the Site holds (P30)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import groupby
from typing import Final
from uuid import UUID

from central.kernel.binary_arrays import uuid_array
from central.kernel.database import Database
from central.kernel.errors import CorruptState
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.provisioning.adapters.account_rows import PartyRow, party_accounts
from central.provisioning.adapters.rows import IdRow, SavedRow
from central.provisioning.adapters.snapshots import KnownVersions
from central.provisioning.application.account_ports import AllocationEvidence
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.ids import AllocationId


class PostgresMemberAccounts:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = KnownVersions()
        self._queries = load_queries("central.provisioning", "member_accounts.sql")

    def of_projects(
        self, site: Site, projects: Collection[UUID], party: UUID
    ) -> Sequence[AllocationEvidence]:
        """See `MemberAccountReads`."""
        params = {"site": site, "projects": uuid_array(projects), "party": party}
        rows = self._database.run(
            lambda tx: tx.all(_EvidenceRow, self._queries["of_projects"], params), repeatable=True
        )
        found = []
        for allocation, some in groupby(rows, key=lambda row: row.id):
            theirs = list(some)
            saved = theirs[0].saved(allocation, self._known)
            if saved is None:
                raise CorruptState(f"allocation {allocation} was seen and never saved")
            held = party_accounts([row.as_party() for row in theirs], site)
            found.append(AllocationEvidence(saved, held))
        return found

    def at_site(self, site: Site, party: UUID) -> Sequence[PartyAccounts | None]:
        """See `MemberAccountReads`."""
        params = {"site": site, "party": party}
        rows = self._database.run(
            lambda tx: tx.all(_SetRow, self._queries["at_site"], params), repeatable=True
        )
        return [party_accounts(list(some), site) for _, some in groupby(rows, key=lambda row: row.id)]

    def allocations_of_party(
        self, site: str, projects: Collection[UUID], party: UUID
    ) -> Sequence[AllocationId]:
        """The Site's allocations of these Projects, and those that ever had an account of the Party (O1)."""
        params = {"site": site, "projects": uuid_array(projects), "party": party}
        rows = self._database.run(
            lambda tx: tx.all(IdRow, self._queries["allocations_of_party"], params), repeatable=True
        )
        return [AllocationId(row.id) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SetRow(PartyRow):
    """`at_site`."""

    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _EvidenceRow(SavedRow):
    """`of_projects`: an allocation, its set, and one account of the Party or none."""

    id: UUID
    set_site: str | None
    observed_at: datetime | None
    accounts: int | None
    present: int
    party_id: UUID | None
    binding_id: UUID | None
    generation: int | None
    native_uid: str | None
    name: str | None
    uid_number: int | None
    state: str | None

    def as_party(self) -> PartyRow:
        """The part of the set."""
        return PartyRow(site=self.set_site, **{name: getattr(self, name) for name in _OF_SET})


_OF_SET: Final = tuple(each.name for each in fields(PartyRow) if each.name != "site")
