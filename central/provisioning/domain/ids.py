"""Ids that follow from what they name (P1, P12): the same input gives the same id on every process."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NewType
from uuid import UUID, uuid5

from central.kernel.uuids import dashed_uuid

AllocationId = NewType("AllocationId", UUID)
WaldurInstance = NewType("WaldurInstance", str)
"""The Waldur installation, named exactly as Beto's Project events name it."""

ALLOCATION_NAMESPACE: Final = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")
REMEMBERED: Final = 32_768
COMMAND_NAMESPACE: Final = UUID("0d8a6f0e-8f0b-4f4e-8a3b-5b7f6c2d9e14")
_VARIANT: Final = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


def allocation_id(instance: WaldurInstance, resource_id: UUID) -> AllocationId:
    """The one allocation of a provider resource: UUIDv5 of `<instance>/<resource uuid>`."""
    return AllocationId(uuid5(ALLOCATION_NAMESPACE, f"{instance}/{resource_id}"))


@lru_cache(maxsize=REMEMBERED)
def allocation_text(instance: WaldurInstance, resource_id: str) -> str:
    """The canonical text of the id of a resource's allocation; `resource_id` is a UUID's canonical text."""
    return str(allocation_id(instance, UUID(resource_id)))


def command_ids(report_id: UUID, allocations: Iterable[str]) -> list[str]:
    """What one report asks of each allocation, named by the canonical text of its id (P12).

    UUIDv5 of `<report>/<allocation>` (RFC 9562, 5.5) as 32 hex digits, made without a `UUID` each.
    """
    report = COMMAND_NAMESPACE.bytes + f"{report_id}/".encode()
    hashes = [
        hashlib.sha1(report + allocation.encode(), usedforsecurity=False).hexdigest()
        for allocation in allocations
    ]
    return [f"{text[:12]}5{text[13:16]}{_VARIANT[text[16]]}{text[17:32]}" for text in hashes]


@lru_cache(maxsize=REMEMBERED)
def parse_uuid(text: str) -> UUID | None:
    """The UUID of a text in the dashed form, None for any other text.

    Remembered, as `canonical_uuid` is: reports name the same resources and offerings every minute.
    """
    return dashed_uuid(text)


def uuid_of(canonical: str) -> UUID:
    """The UUID of a canonical text."""
    found = parse_uuid(canonical)
    if found is None:
        raise ValueError("a canonical text is a UUID")
    return found


@lru_cache(maxsize=REMEMBERED)
def canonical_uuid(text: str) -> str | None:
    """The canonical text of a UUID in the dashed form, None for any other text."""
    found = parse_uuid(text)
    return str(found) if found is not None else None


def content_digest(canonical: bytes) -> str:
    """The first 128 bits of SHA-256 (X14), as 32 hex digits."""
    return hashlib.sha256(canonical).hexdigest()[:32]
