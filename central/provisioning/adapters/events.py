"""`resource_provisioning.allocation.changed.v1` (P10): defined and encoded, not published yet.

An outbox row is written once a consumer is declared; that consumer loads the snapshot first
(`SavedAllocations.page`). Usage is not material and not in it (P6).
"""

from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import msgspec

from central.kernel.times import format_rfc3339
from central.provisioning.domain.allocation import Allocation, Lifecycle, Reason
from central.provisioning.domain.amounts import by_component

TYPE: Final = "resource_provisioning.allocation.changed.v1"


class AllocationChanged(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The event's data."""

    allocation_id: UUID
    revision: int
    site: str
    project_id: UUID | None
    lifecycle: Lifecycle
    reasons: tuple[Reason, ...]
    configured: dict[str, int] | None
    applied: dict[str, int] | None
    observed_at: str


class Message(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """docs/wire.md, "Messages"."""

    schema: Literal[1]
    message_id: UUID
    type: str
    occurred_at: str
    data: AllocationChanged


def encode_changed(allocation: Allocation, message_id: UUID, occurred_at: datetime) -> bytes:
    """The message that tells of this revision, in its canonical bytes."""
    facts = allocation.facts
    data = AllocationChanged(
        allocation_id=allocation.allocation_id,
        revision=allocation.revision,
        site=allocation.site,
        project_id=facts.project_id,
        lifecycle=allocation.lifecycle,
        reasons=allocation.reasons,
        configured=by_component(facts.configured),
        applied=by_component(facts.applied),
        observed_at=format_rfc3339(allocation.observed_at),
    )
    message = Message(1, message_id, TYPE, format_rfc3339(occurred_at), data)
    return msgspec.json.encode(message, order="deterministic")
