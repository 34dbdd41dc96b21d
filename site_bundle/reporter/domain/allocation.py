"""The allocation's id, as central derives it (P1): UUIDv5 of `<waldur instance>/<resource uuid>`."""

from __future__ import annotations

from uuid import UUID, uuid5

NAMESPACE = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")


def allocation_id(instance: str, resource_id: UUID) -> UUID:
    """The one allocation of a provider resource."""
    return uuid5(NAMESPACE, f"{instance}/{resource_id}")
