"""Names of things in the view. Ids are Beto's; what a provider calls its own is opaque text."""

import re
from enum import StrEnum
from typing import Final, NewType
from uuid import UUID

ProjectId = NewType("ProjectId", UUID)
PartyId = NewType("PartyId", UUID)
BindingId = NewType("BindingId", UUID)
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}", re.IGNORECASE)


class Scope(StrEnum):
    """The three sets Beto counts and fingerprints apart (docs/wire.md, "Initial load and recovery")."""

    PROJECTS = "projects"
    PARTIES = "parties"
    AUTHORITIES = "authorities"


def comparable(text: str) -> str:
    """A provider's own text in the form it is compared in: UUIDs as UUIDs, everything else as it is (P1)."""
    return str(UUID(text)) if _UUID.fullmatch(text) else text
