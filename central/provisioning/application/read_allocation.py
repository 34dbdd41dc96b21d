"""A Site reads one of its own allocations (P9, P11)."""

from dataclasses import dataclass

from central.kernel.site_names import Site
from central.provisioning.application.ports import SavedAllocations
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.ids import AllocationId


@dataclass(frozen=True, slots=True)
class ReadAllocation:
    """The use case."""

    saved: SavedAllocations

    def __call__(self, site: Site, allocation: AllocationId) -> Saved | None:
        """The allocation; None if there is none of this id at this Site."""
        found = self.saved.by_id(allocation)
        return found if found is not None and found.allocation.site == site else None
