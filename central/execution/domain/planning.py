"""Whether and where a Run may be accepted (P31, E4): pure, over the Project's allocations at the Site.

1. An allocation that is named has to be the Project's at that Site; none named, exactly one has to be live.
2. Suspended and observed within `fresh`: `resource_suspended`. An older pause, any other lifecycle, or an
   observation as old as `fresh`: `resource_not_ready`.
3. Each amount asked for is within the applied limit of that component; a component without one has no room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from central.execution.domain.request import RunRequest

FRESH: Final = timedelta(minutes=15)
AHEAD: Final = timedelta(seconds=5)


class Lifecycle(StrEnum):
    """What planning tells apart (P31)."""

    READY = "ready"
    SUSPENDED = "suspended"
    NOT_READY = "not_ready"


class PlanRefusal(StrEnum):
    """Codes of docs/wire.md, "Runs"."""

    ALLOCATION_UNKNOWN = "allocation_unknown"
    ALLOCATION_AMBIGUOUS = "allocation_ambiguous"
    EPHEMERAL_STORAGE_REFUSED = "ephemeral_storage_refused"
    LIMITS_EXCEEDED = "limits_exceeded"
    DEADLINE_PASSED = "deadline_passed"
    RESOURCE_SUSPENDED = "resource_suspended"
    RESOURCE_NOT_READY = "resource_not_ready"


@dataclass(frozen=True, slots=True)
class Resource:
    """A live allocation as planning sees it. `applied` None: no limit is proven."""

    allocation_id: UUID
    native_name: str | None
    lifecycle: Lifecycle
    observed_at: datetime
    applied: Mapping[str, int] | None


class PlanRefused(Exception):
    """The Run is not accepted; `component` names what was too much."""

    def __init__(self, refusal: PlanRefusal, component: str | None = None) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal
        self.component = component


def plan(request: RunRequest, resources: Sequence[Resource], now: datetime) -> Resource:
    """The allocation the Run is accepted for. Raises `PlanRefused`."""
    if request.deadline <= now:
        raise PlanRefused(PlanRefusal.DEADLINE_PASSED)
    if "ephemeral_storage" in request.amounts:
        raise PlanRefused(PlanRefusal.EPHEMERAL_STORAGE_REFUSED)
    chosen = _chosen(request, resources)
    _require_ready(chosen, now)
    applied = chosen.applied or {}
    for component, amount in request.resources:
        if amount > applied.get(component, 0):
            raise PlanRefused(PlanRefusal.LIMITS_EXCEEDED, component)
    return chosen


def _chosen(request: RunRequest, resources: Sequence[Resource]) -> Resource:
    if request.allocation_id is not None:
        fitting = [each for each in resources if each.allocation_id == request.allocation_id]
    else:
        fitting = list(resources)
    if not fitting:
        raise PlanRefused(PlanRefusal.ALLOCATION_UNKNOWN)
    if len(fitting) > 1:
        raise PlanRefused(PlanRefusal.ALLOCATION_AMBIGUOUS)
    return fitting[0]


def _require_ready(chosen: Resource, now: datetime) -> None:
    recent = now - FRESH < chosen.observed_at <= now + AHEAD
    if chosen.lifecycle is Lifecycle.SUSPENDED and recent:
        raise PlanRefused(PlanRefusal.RESOURCE_SUSPENDED)
    if chosen.lifecycle is not Lifecycle.READY or not recent:
        raise PlanRefused(PlanRefusal.RESOURCE_NOT_READY)
    if chosen.native_name is None or chosen.applied is None:
        raise PlanRefused(PlanRefusal.RESOURCE_NOT_READY)
