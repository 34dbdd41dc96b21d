"""The allocation's id, as central derives it (P1): UUIDv5 of `<waldur instance>/<resource uuid>`.

Reckoned here by RFC 9562's rule: `uuid.uuid5` would bring OpenSSL into the process, which nothing else in it
needs (4.4 MB, S10). As `random` does in the standard library, the interpreter's own hash is taken where there
is one.
"""

from __future__ import annotations

from uuid import UUID

try:
    from _sha1 import sha1  # type: ignore[import-not-found]
except ImportError:  # an interpreter built without it
    from hashlib import sha1

NAMESPACE = UUID("b3b9b0f7-2a6e-4c53-9d0e-6f8f4f1c7a21")


def allocation_id(instance: str, resource_id: UUID) -> UUID:
    """The one allocation of a provider resource. SHA-1 names here, it protects nothing (X14)."""
    hashed = sha1(NAMESPACE.bytes + f"{instance}/{resource_id}".encode(), usedforsecurity=False)
    return UUID(bytes=hashed.digest()[:16], version=5)
