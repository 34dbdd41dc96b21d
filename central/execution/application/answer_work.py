"""Answers for all accepted work: inventory and pages of one snapshot, whichever replica is asked (P29)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.execution.application.worker_ports import Inventory, WorkInventory
from central.kernel.paging import page_length


@dataclass(frozen=True, slots=True)
class WorkPage:
    """Encoded items in ascending order; `next` is the last one's id, None at the end."""

    items: tuple[bytes, ...]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class AnswerWork:
    """The use case."""

    inventory: WorkInventory
    new_id: Callable[[], UUID]

    def take(self, now: datetime) -> Inventory:
        """Everything as it stands."""
        return self.inventory.take(self.new_id(), now)

    def page(self, snapshot_id: UUID, after: UUID | None, limit: int) -> WorkPage | None:
        """A page, None if the snapshot is gone."""
        found = self.inventory.page(snapshot_id, after, limit + 1)
        if found is None:
            return None
        items = found[: page_length((len(body) for _, body in found), limit)]
        following = items[-1][0] if len(found) > len(items) else None
        return WorkPage(tuple(body for _, body in items), following)
