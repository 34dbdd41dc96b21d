"""A version's snapshot: an allocation as canonical JSON and back; any misfit is `CorruptState` (P7)."""

import hashlib
from datetime import datetime
from functools import lru_cache
from struct import Struct
from typing import Final, Literal
from uuid import UUID

import msgspec

from central.kernel.aggregates import framed
from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.kernel.times import format_rfc3339, parse_rfc3339
from central.provisioning.domain.allocation import Allocation, Facts, Lifecycle, Reason
from central.provisioning.domain.amounts import Amounts, amounts_of, by_component
from central.provisioning.domain.ids import REMEMBERED, AllocationId, WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef, ProviderState

KIND: Final = "allocation"
_KIND_FRAMED: Final = framed(KIND.encode())
_HEAD: Final = Struct(f">{len(_KIND_FRAMED)}sQ16sQQQ")
"""`framed` of an id, a version and a snapshot that follows, in one call: there are thousands a second."""
_ENCODER: Final = msgspec.json.Encoder()
"""Fields have one order and `Amounts` theirs, so that the bytes are canonical."""


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """Schema 1. Lifecycle and reasons are what was decided then, never computed again."""

    schema: Literal[1]
    allocation_id: UUID
    site: str
    instance: str
    resource_id: UUID
    offering_id: UUID
    provider_project_ref: str
    native_name: str | None
    project_id: UUID | None
    state: ProviderState
    paused: bool
    configured: dict[str, int] | None
    applied: dict[str, int] | None
    used: dict[str, int] | None
    lifecycle: Lifecycle
    reasons: list[Reason]
    revision: int
    observed_at: str


_DECODER: Final = msgspec.json.Decoder(Snapshot)


def encode_snapshot(allocation: Allocation) -> bytes:
    """The canonical bytes of an allocation."""
    facts = allocation.facts
    return _ENCODER.encode(
        Snapshot(
            schema=1,
            allocation_id=allocation.allocation_id,
            site=allocation.site,
            instance=allocation.instance,
            resource_id=allocation.resource_id,
            offering_id=allocation.offering_id,
            provider_project_ref=facts.provider_project_ref,
            native_name=facts.native_name,
            project_id=facts.project_id,
            state=facts.state,
            paused=facts.paused,
            configured=by_component(facts.configured),
            applied=by_component(facts.applied),
            used=by_component(allocation.used),
            lifecycle=allocation.lifecycle,
            reasons=list(allocation.reasons),
            revision=allocation.revision,
            observed_at=_instant_text(allocation.observed_at),
        )
    )


def decode_snapshot(allocation_id: UUID, snapshot: str) -> Allocation:
    """The allocation of this id. Raises `CorruptState` for anything this code would not have written."""
    try:
        found = _DECODER.decode(snapshot)
        allocation = Allocation(
            allocation_id=AllocationId(found.allocation_id),
            site=Site(found.site),
            instance=WaldurInstance(found.instance),
            resource_id=found.resource_id,
            offering_id=found.offering_id,
            facts=Facts(
                project_id=found.project_id,
                provider_project_ref=ProviderProjectRef(found.provider_project_ref),
                native_name=found.native_name,
                state=found.state,
                paused=found.paused,
                configured=_amounts(found.configured),
                applied=_amounts(found.applied),
            ),
            lifecycle=found.lifecycle,
            reasons=tuple(found.reasons),
            used=_amounts(found.used),
            revision=found.revision,
            observed_at=_instant(found.observed_at),
        )
    except ValueError as error:
        raise CorruptState(f"{KIND} {allocation_id}: the snapshot cannot be read: {error}") from None
    if allocation.allocation_id != allocation_id:
        raise CorruptState(f"{KIND} {allocation_id}: the snapshot is another's")
    return allocation


class Known(msgspec.Struct, frozen=True, gc=False):
    """A version of an allocation: its digest was computed from the bytes of its snapshot."""

    digest: bytes
    version: int
    allocation: Allocation


class KnownVersions:
    """The version each allocation had when this process last wrote or read it: what one report leaves, the
    next one finds, without decoding it.

    Never believed alone: it counts where the rows have this very digest. Forgets everything when it knows
    `remembered` allocations. Safe to share between threads: what another learned has another digest.
    """

    def __init__(self, *, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._known: dict[int, Known] = {}

    def learn(self, digest: bytes, version: int, allocation: Allocation) -> None:
        """This version of this allocation has this digest."""
        if len(self._known) >= self._remembered:
            self.forget()
        self._known[allocation.allocation_id.int] = Known(digest, version, allocation)

    def forget(self) -> None:
        """Nothing is known."""
        self._known = {}

    def of(self, allocation_id: UUID) -> Known | None:
        """What is known of an allocation."""
        return self._known.get(allocation_id.int)

    def allocation(self, digest: bytes, allocation_id: UUID, version: int, snapshot: str) -> Allocation:
        """The allocation of a version with this digest. Raises as `decode_snapshot`."""
        known = self._known.get(allocation_id.int)
        if known is not None and known.digest == digest:
            return known.allocation
        allocation = decode_snapshot(allocation_id, snapshot)
        self.learn(digest, version, allocation)
        return allocation


def version_digest(allocation_id: UUID, version: int, snapshot: bytes) -> bytes:
    """The digest the aggregate store keeps of a version (`central.kernel.aggregates`)."""
    head = _HEAD.pack(_KIND_FRAMED, 16, allocation_id.bytes, 8, version, len(snapshot))
    return hashlib.sha256(head + snapshot).digest()


@lru_cache(maxsize=256)
def _instant(text: str) -> datetime:
    """Remembered, as `_instant_text` is: what one report changed has one time."""
    return parse_rfc3339(text, field="observedAt")


@lru_cache(maxsize=256)
def _instant_text(instant: datetime) -> str:
    return format_rfc3339(instant)


def _amounts(amounts: dict[str, int] | None) -> Amounts | None:
    return amounts_of(tuple(amounts.items())) if amounts is not None else None
