"""An allocation: what a Project has at a Site, as far as the Site's reports prove it (P1, P4)."""

from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct

from central.kernel.site_names import Site
from central.provisioning.domain.amounts import Amounts
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import TRANSITIONAL, Content, ProviderProjectRef, ProviderState


class Lifecycle(StrEnum):
    """Where an allocation stands (P4)."""

    PENDING = "pending"
    READY = "ready"
    CHANGING = "changing"
    SUSPENDED = "suspended"
    RETIRED = "retired"


class Reason(StrEnum):
    """Why it is not ready, in the order they are told; several may hold."""

    PROJECT_UNBOUND = "project_unbound"
    PROVISIONING = "provisioning"
    PROVIDER_ERRED = "provider_erred"
    LIMITS_NOT_APPLIED = "limits_not_applied"


_LIMITS: Final = (Reason.LIMITS_NOT_APPLIED,)


class Facts(Struct, frozen=True, gc=False):
    """What is known of the resource itself; everything else about an allocation follows from it."""

    project_id: UUID | None
    provider_project_ref: ProviderProjectRef
    native_name: str | None
    state: ProviderState
    paused: bool
    configured: Amounts | None
    applied: Amounts | None


class Allocation(Struct, frozen=True, gc=False):
    """One version of an allocation. `revision` counts material changes, `observed_at` is when this was seen.

    `applied` are the limits in force, None until the Site confirmed some. `used` is what the Site counted,
    None where it did not say (P6).
    """

    allocation_id: AllocationId
    site: Site
    instance: WaldurInstance
    resource_id: UUID
    offering_id: UUID
    facts: Facts
    lifecycle: Lifecycle
    reasons: tuple[Reason, ...]
    used: Amounts | None
    revision: int
    observed_at: datetime

    @property
    def waits_for_project(self) -> bool:
        """Its Project is not proven yet, so that each report must be decided anew (P12)."""
        return self.facts.project_id is None and self.lifecycle is not Lifecycle.RETIRED


class Saved(Struct, frozen=True, gc=False):
    """An allocation as it is stored. `version` counts what was saved, `last_seen` is the later of
    `observed_at` and the last sighting (P9), `content` names what the last report that counted said.
    """

    allocation: Allocation
    version: int
    content: Content
    last_seen: datetime


def lifecycle_of(facts: Facts) -> tuple[Lifecycle, tuple[Reason, ...]]:
    """The lifecycle that follows from the facts, with its reasons.

    The provider's own trouble and an unproven Project come before a pause, a pause before limits: a member is
    told first what no pause can end. Where nothing is applied, or that is not known, no earlier limits are in
    force: that is pending and not changing.
    """
    if facts.state is ProviderState.TERMINATED:
        return Lifecycle.RETIRED, ()
    reasons: list[Reason] = []
    if facts.project_id is None:
        reasons.append(Reason.PROJECT_UNBOUND)
    if facts.state in TRANSITIONAL:
        reasons.append(Reason.PROVISIONING)
    if facts.state is ProviderState.ERRED:
        reasons.append(Reason.PROVIDER_ERRED)
    applied = facts.configured is not None and facts.applied == facts.configured
    if reasons:
        return Lifecycle.PENDING, (*reasons, *(() if applied else _LIMITS))
    if facts.paused:
        return Lifecycle.SUSPENDED, ()
    if applied:
        return Lifecycle.READY, ()
    in_force = facts.applied is not None and facts.applied.pairs
    return (Lifecycle.CHANGING if in_force else Lifecycle.PENDING), _LIMITS
