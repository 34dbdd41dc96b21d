"""`FenceReads` in PostgreSQL: three statements whatever the number of holders, one snapshot (P28)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.adapters.rows import MembershipRow, SiteBindingRow, stored_authority, stored_project
from central.projects.application.retention_fences import AccountHolder, FenceView
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.view import ViewLimits

_ALL: Final = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class FencedProjectRow:
    """`projects`."""

    id: UUID
    project: str
    authority: str | None


class PostgresFences(PostgresReads):
    """The adapter: a read of the view like the others. Safe to share between threads."""

    def __init__(self, database: Database, limits: ViewLimits) -> None:
        super().__init__(database, limits)
        self._fences = load_queries("central.projects", "fences.sql")

    def fence_view(self, holders: Collection[AccountHolder], now: datetime) -> FenceView:
        """See `FenceReads`."""
        params = {
            "project_ids": list({holder.project_id for holder in holders}),
            "pair_projects": [holder.project_id for holder in holders],
            "pair_parties": [holder.party_id for holder in holders],
            "binding_ids": list({holder.binding_id for holder in holders}),
        }

        def read(tx: Transaction) -> FenceView:
            tx.execute(self._queries["one_snapshot"])
            self._require(tx, _ALL, now)
            projects = tx.all(FencedProjectRow, self._fences["projects"], params)
            memberships = tx.all(MembershipRow, self._fences["memberships"], params)
            bindings = tx.all(SiteBindingRow, self._fences["bindings"], params)
            return FenceView(
                {
                    ProjectId(row.id): (
                        stored_project(row.id, row.project),
                        stored_authority(ProjectId(row.id), row.authority) if row.authority else None,
                    )
                    for row in projects
                },
                {(ProjectId(m.project_id), PartyId(m.party_id)): m.membership() for m in memberships},
                [row.binding() for row in bindings],
            )

        return self._database.run(read, repeatable=True)
