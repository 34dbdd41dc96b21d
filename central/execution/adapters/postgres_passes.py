"""`RunPasses` and `WorkInventory` in PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.execution.adapters.rows import RunIdRow
from central.execution.application.work_items import WorkRow, encode_item
from central.execution.application.worker_ports import Inventory
from central.kernel.database import Database, Transaction
from central.kernel.paging import fingerprint
from central.kernel.queries import load_queries

KEPT: Final = timedelta(hours=1)
"""How long an inventory may be read."""


@dataclass(frozen=True, slots=True)
class _Known:
    known: bool


@dataclass(frozen=True, slots=True)
class _PublishedRow:
    run_id: UUID
    published: int


@dataclass(frozen=True, slots=True)
class _ItemRow:
    item_id: UUID
    body: bytes


class PostgresPasses:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "passes.sql")

    def live(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        """See `RunPasses`."""
        return self._ids("live", {"after": after, "limit": limit})

    def past_deadline(self, now: datetime, limit: int) -> Sequence[UUID]:
        """See `RunPasses`."""
        return self._ids("past_deadline", {"now": now, "limit": limit})

    def awaiting_output(self, after: UUID | None, limit: int) -> Sequence[UUID]:
        """See `RunPasses`."""
        return self._ids("awaiting_output", {"after": after, "limit": limit})

    def unpublished(self, limit: int) -> Sequence[tuple[UUID, int]]:
        """See `RunPasses`."""
        params = {"limit": limit}
        rows = self._database.run(
            lambda tx: tx.all(_PublishedRow, self._queries["unpublished"], params), repeatable=True
        )
        return [(row.run_id, row.published) for row in rows]

    def published(self, revisions: Sequence[tuple[UUID, int]]) -> None:
        """See `RunPasses`."""
        params = {
            "run_ids": [run_id for run_id, _ in revisions],
            "revisions": [revision for _, revision in revisions],
        }
        self._database.run(lambda tx: tx.execute(self._queries["published"], params), repeatable=True)

    def take(self, snapshot_id: UUID, now: datetime) -> Inventory:
        """See `WorkInventory`. Every item is read in one statement, and so of one moment."""

        def work(tx: Transaction) -> Inventory:
            rows = tx.all(WorkRow, self._queries["work"])
            bodies = [encode_item(row) for row in rows]
            tx.execute(self._queries["forget_inventories"], {"before": now - KEPT})
            tx.execute(self._queries["add_inventory"], {"snapshot_id": snapshot_id, "now": now})
            tx.execute(
                self._queries["add_items"],
                {"snapshot_id": snapshot_id, "item_ids": [row.item_id for row in rows], "bodies": bodies},
            )
            return Inventory(snapshot_id, len(bodies), fingerprint(bodies))

        return self._database.run(work)

    def page(self, snapshot_id: UUID, after: UUID | None, limit: int) -> Sequence[tuple[UUID, bytes]] | None:
        """See `WorkInventory`."""
        params = {"snapshot_id": snapshot_id, "after": after, "limit": limit}

        def read(tx: Transaction) -> Sequence[tuple[UUID, bytes]] | None:
            rows = tx.all(_ItemRow, self._queries["inventory_page"], params)
            if not rows and not tx.one(_Known, self._queries["inventory_known"], params).known:
                return None
            return [(row.item_id, bytes(row.body)) for row in rows]

        return self._database.run(read, repeatable=True)

    def _ids(self, query: str, params: dict[str, object]) -> Sequence[UUID]:
        rows = self._database.run(lambda tx: tx.all(RunIdRow, self._queries[query], params), repeatable=True)
        return [row.run_id for row in rows]
