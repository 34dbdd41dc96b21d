"""`ProjectBindings` while no Project view is connected: nothing can be known, so nothing is claimed (X1)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from central.kernel.errors import Unavailable
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef


class UnconnectedProjects:
    """Every lookup is unavailable; allocations wait with `project_unbound`."""

    def resolve(
        self, instance: WaldurInstance, refs: Collection[ProviderProjectRef]
    ) -> Mapping[ProviderProjectRef, UUID | None]:
        """See `ProjectBindings`."""
        raise Unavailable(
            "unavailable", f"no Project view is connected; {len(refs)} Projects of {instance} wait"
        )
