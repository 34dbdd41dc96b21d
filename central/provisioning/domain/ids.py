"""Ids that follow from what they name (P1, P12): the same input gives the same id on every process."""

import hashlib
from typing import Final, NewType
from uuid import UUID, uuid5

AllocationId = NewType("AllocationId", UUID)
WaldurInstance = NewType("WaldurInstance", str)
"""The Waldur installation, named exactly as Beto's Project events name it."""

ALLOCATION_NAMESPACE: Final = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")
COMMAND_NAMESPACE: Final = UUID("0d8a6f0e-8f0b-4f4e-8a3b-5b7f6c2d9e14")


def allocation_id(instance: WaldurInstance, resource_id: UUID) -> AllocationId:
    """The one allocation of a provider resource: UUIDv5 of `<instance>/<resource uuid>`."""
    return AllocationId(uuid5(ALLOCATION_NAMESPACE, f"{instance}/{resource_id}"))


def command_id(report_id: UUID, allocation: str) -> UUID:
    """What one report asks of one allocation, named by the canonical text of its id (P12)."""
    return uuid5(COMMAND_NAMESPACE, f"{report_id}/{allocation}")


def canonical_uuid(text: str) -> str | None:
    """The canonical text of a UUID in its dashed form, None for any other text."""
    try:
        canonical = str(UUID(text))
    except ValueError:
        return None
    return canonical if canonical == text.lower() else None


def content_digest(canonical: bytes) -> str:
    """The first 128 bits of SHA-256 (X14), as 32 hex digits."""
    return hashlib.sha256(canonical).hexdigest()[:32]
