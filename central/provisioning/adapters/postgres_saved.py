"""`SavedAllocations` in PostgreSQL: nothing leaves unchecked (P7, P9)."""

from collections.abc import Collection, Sequence
from typing import TypeVar
from uuid import UUID

from central.kernel.binary_arrays import uuid_array
from central.kernel.database import Database, Transaction
from central.kernel.errors import CorruptState
from central.kernel.queries import Query, load_queries
from central.provisioning.adapters.rows import IdRow, SavedRow
from central.provisioning.adapters.snapshots import KnownVersions
from central.provisioning.application.ports import SnapshotPage
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.ids import AllocationId

_FIRST = UUID(int=0)
ProjectT = TypeVar("ProjectT", bound=UUID)


class PostgresSavedAllocations:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning")
        self._known = KnownVersions()
        self._evidence = load_queries("central.provisioning", "evidence.sql")

    def by_id(self, allocation: AllocationId) -> Saved | None:
        """See `SavedAllocations`."""

        return self._database.run(lambda tx: self._saved(tx, [allocation])[0], repeatable=True)

    def by_project(self, project_id: UUID) -> Sequence[Saved]:
        """See `SavedAllocations`."""

        def read(tx: Transaction) -> Sequence[Saved]:
            ids = tx.all(IdRow, self._queries["ids_of_project"], {"project_id": project_id})
            return self._all(tx, [row.id for row in ids])

        return self._database.run(read, repeatable=True)

    def with_allocations(self, projects: Collection[ProjectT], site: str) -> Collection[ProjectT]:
        """Those of the Projects that have one at the Site, retired ones included: the view's `ProjectSites`
        (P19).
        """
        params = {"projects": list(projects), "site": site}
        rows = self._database.run(
            lambda tx: tx.all(IdRow, self._queries["projects_at_site"], params), repeatable=True
        )
        here = {row.id for row in rows}
        return {project for project in projects if project in here}

    def page(self, after: AllocationId | None, limit: int) -> SnapshotPage:
        """See `SavedAllocations`."""
        return self._page(self._queries["ids_after"], {"after": after or _FIRST}, limit)

    def page_of_site(self, site: str, after: AllocationId | None, limit: int) -> SnapshotPage:
        """As `page`, of one Site's."""
        params = {"after": after or _FIRST, "site": site}
        return self._page(self._evidence["ids_of_site_after"], params, limit)

    def _page(self, query: Query, params: dict[str, object], limit: int) -> SnapshotPage:
        params["limit"] = limit + 1

        def read(tx: Transaction) -> SnapshotPage:
            ids = [row.id for row in tx.all(IdRow, query, params)]
            saved = self._all(tx, ids[:limit])
            return SnapshotPage(saved, AllocationId(ids[limit - 1]) if len(ids) > limit else None)

        return self._database.run(read, repeatable=True)

    def _all(self, tx: Transaction, ids: Sequence[UUID]) -> list[Saved]:
        found = [saved for saved in self._saved(tx, ids) if saved is not None]
        if len(found) != len(ids):
            raise CorruptState("an allocation was read and then gone")
        return found

    def _saved(self, tx: Transaction, ids: Sequence[UUID]) -> list[Saved | None]:
        rows = tx.all(SavedRow, self._queries["saved"], {"ids": uuid_array(ids)})
        return [row.saved(allocation_id, self._known) for allocation_id, row in zip(ids, rows, strict=True)]
