"""Beto's Project as its events and snapshots tell it: everything, each time (P13, P18)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from central.projects.domain.ids import BindingId, PartyId, ProjectId


class Lifecycle(StrEnum):
    """A closed Project still resolves: the binding is identity, not access."""

    ACTIVE = "active"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ProviderProject:
    """What a provider calls a Project: `instance` is the provider's installation as Beto names it."""

    provider: str
    instance: str
    ref: str


@dataclass(frozen=True, slots=True)
class BindingRef:
    """A provider binding Beto has verified."""

    binding_id: BindingId
    revision: int


@dataclass(frozen=True, slots=True)
class ListedMember:
    """A member as Beto lists it; a binding of None is a Party still pending."""

    party_id: PartyId
    binding: BindingRef | None


@dataclass(frozen=True, slots=True)
class Project:
    """One revision of a Project. The order of its lists is Beto's and part of its encoding."""

    project_id: ProjectId
    revision: int
    lifecycle: Lifecycle
    provider_bindings: tuple[ProviderProject, ...]
    members: tuple[ListedMember, ...]

    @property
    def id(self) -> UUID:
        """What the set is ordered by."""
        return self.project_id

    @property
    def verified(self) -> Mapping[PartyId, BindingRef]:
        """The members that count: a Party without verified binding is none (P18)."""
        return {member.party_id: member.binding for member in self.members if member.binding is not None}
