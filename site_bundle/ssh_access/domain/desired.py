"""What the owner wants: one desired state a key, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from site_bundle.ssh_access.domain.public_key import MalformedKeyError, PublicKey, parse_public_key
from site_bundle.ssh_access.domain.target import Target


class Act(StrEnum):
    """A change's desired state."""

    PRESENT = "present"
    ABSENT = "absent"


class Outcome(StrEnum):
    """What is reported of a key (docs/architecture.md, results)."""

    APPLIED = "applied"
    REMOVED = "removed_from_directory"
    PENDING = "pending"
    HELD = "held"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome and, where one is needed, the reason's code."""

    outcome: Outcome
    code: str | None = None


@dataclass(frozen=True, slots=True)
class DesiredKey:
    """The latest change of one key, as the Site API sent it."""

    key_id: UUID
    change_id: UUID
    sequence: int
    act: Act
    public_key: str
    fingerprint: str
    target: Target

    def parsed(self) -> PublicKey | None:
        """The key, or None when it breaks the grammar or its fingerprint is another key's."""
        try:
            key = parse_public_key(self.public_key)
        except MalformedKeyError:
            return None
        return key if key.fingerprint == self.fingerprint else None
