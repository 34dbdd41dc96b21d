"""A Project's allocations as its members see them (P38): complete, and told only to who may look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from central.provisioning.application.ports import SavedAllocations
from central.provisioning.domain.allocation import Saved


class ProjectViewers(Protocol):
    """Knows who may look into a Project."""

    def may_view(self, project: UUID, party: UUID) -> bool:
        """Asks now. `Unavailable` when nobody answers."""
        ...


class ViewRefused(Exception):
    """The Party may not look into the Project."""


@dataclass(frozen=True, slots=True)
class ProjectAllocations:
    """The use case. Asked before and after the read, so that a permission lost meanwhile counts."""

    viewers: ProjectViewers
    allocations: SavedAllocations

    def __call__(self, project: UUID, party: UUID) -> Sequence[Saved]:
        """Every allocation by id, retired ones included. `ViewRefused`, `Unavailable`, `CorruptState`."""
        self._require(project, party)
        found = self.allocations.by_project(project)
        self._require(project, party)
        return sorted(found, key=lambda saved: saved.allocation.allocation_id)

    def _require(self, project: UUID, party: UUID) -> None:
        if not self.viewers.may_view(project, party):
            raise ViewRefused
