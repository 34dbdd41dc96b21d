"""Beto's Party and its provider bindings (P14, P16)."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from central.projects.domain.ids import BindingId, PartyId


class PartyState(StrEnum):
    """A retired Party holds nothing any more, whatever its bindings say."""

    ACTIVE = "active"
    RETIRED = "retired"


class BindingState(StrEnum):
    """Whether a binding is in force."""

    ESTABLISHED = "established"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class PartyBinding:
    """A Party's account at a provider: `instance` is a Site or an installation, `subject` the name there."""

    binding_id: BindingId
    revision: int
    provider: str
    instance: str
    subject: str
    state: BindingState


@dataclass(frozen=True, slots=True)
class Party:
    """One revision of a Party. The order of its bindings is Beto's and part of its encoding."""

    party_id: PartyId
    revision: int
    state: PartyState
    provider_bindings: tuple[PartyBinding, ...]

    @property
    def id(self) -> UUID:
        """What the set is ordered by."""
        return self.party_id
