"""Rows of `projects` as domain values. A row at odds with itself is `CorruptState` (P7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.errors import CorruptState
from central.kernel.questions import ItemMalformed
from central.kernel.site_names import Site
from central.kernel.times import stored_instant
from central.projects.application.items import decode_item
from central.projects.domain.authority import Authority
from central.projects.domain.ids import BindingId, PartyId, ProjectId, Scope, comparable
from central.projects.domain.membership import Membership
from central.projects.domain.merge import Held
from central.projects.domain.party import BindingState, Party, PartyState
from central.projects.domain.project import Project
from central.projects.domain.revisions import Told, Viewed
from central.projects.domain.site_binding import SiteBinding, Standing
from central.projects.domain.view import Phase, ScopeView


def stored_item(scope: Scope, key: UUID, item: str) -> Viewed:
    """An item read from the view."""
    try:
        value = decode_item(scope, item)
    except ItemMalformed as error:
        raise CorruptState(f"{scope} {key}: the stored item cannot be read: {error}") from None
    if value.id != key:
        raise CorruptState(f"{scope} {key}: the stored item is another one's")
    return value


def stored_project(key: UUID, item: str) -> Project:
    """As `stored_item`, of a Project."""
    value = stored_item(Scope.PROJECTS, key, item)
    if not isinstance(value, Project):
        raise CorruptState(f"{key}: the stored item is no Project")
    return value


def stored_authority(key: UUID, item: str) -> Authority:
    """As `stored_item`, of an authority."""
    value = stored_item(Scope.AUTHORITIES, key, item)
    if not isinstance(value, Authority):
        raise CorruptState(f"{key}: the stored item is no authority")
    return value


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """`projects.scopes`."""

    scope: str
    phase: str
    epoch: int
    position: int | None
    checked_at: datetime | None
    held_until: datetime | None
    reason: str | None
    refused_position: int | None

    def view(self) -> ScopeView:
        """The row as a domain value."""
        return ScopeView(
            Scope(self.scope),
            Phase(self.phase),
            self.epoch,
            self.position,
            stored_instant(self.checked_at) if self.checked_at else None,
            stored_instant(self.held_until) if self.held_until else None,
            self.reason,
            self.refused_position,
        )


def scope_params(view: ScopeView) -> dict[str, object]:
    """A scope as the named parameters of its row."""
    return {
        "scope": view.scope.value,
        "phase": view.phase.value,
        "epoch": view.epoch,
        "position": view.position,
        "checked_at": view.checked_at,
        "held_until": view.held_until,
        "reason": view.reason,
        "refused_position": view.refused_position,
    }


@dataclass(frozen=True, slots=True)
class EpochRow:
    """`share_scope`."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """`manifest`."""

    count: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """`projects.items`."""

    id: UUID
    item: str
    told_at: datetime
    by_message: bool
    epoch: int

    def held(self, scope: Scope) -> Held[Viewed]:
        """The row as a domain value."""
        told = Told(stored_item(scope, self.id, self.item), stored_instant(self.told_at), self.by_message)
        return Held(told, self.epoch)


@dataclass(frozen=True, slots=True)
class MembershipRow:
    """`projects.memberships`."""

    project_id: UUID
    party_id: UUID
    generation: int
    binding_id: UUID
    binding_revision: int
    present: bool

    def membership(self) -> Membership:
        """The row as a domain value."""
        return _membership(
            self.party_id, self.generation, self.binding_id, self.binding_revision, present=self.present
        )


@dataclass(frozen=True, slots=True)
class HolderRow:
    """`holders`."""

    ref: str
    project_id: UUID


@dataclass(frozen=True, slots=True)
class SiteBindingRow:
    """`bindings_of_username`, `bindings_of_party`."""

    party_id: UUID
    binding_id: UUID
    revision: int
    instance: str
    subject: str
    established: bool

    def binding(self) -> SiteBinding:
        """The row as a domain value."""
        return SiteBinding(
            PartyId(self.party_id),
            BindingId(self.binding_id),
            self.revision,
            Site(self.instance),
            self.subject,
            Standing.ACTIVE if self.established else Standing.RETIRED,
        )


@dataclass(frozen=True, slots=True)
class UsernameRow:
    """`usernames_of_parties`."""

    party_id: UUID
    username: str


@dataclass(frozen=True, slots=True)
class NamingRow:
    """`binding_ids_of_usernames`."""

    username: str
    binding_id: UUID


@dataclass(frozen=True, slots=True)
class CountRow:
    """`membership_counts`."""

    project_id: UUID
    members: int


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """`projects_with_authority`."""

    project_id: UUID
    project: str
    authority: str | None


@dataclass(frozen=True, slots=True)
class ProjectMembershipRow:
    """`project_membership`: a Project, and a membership and an authority or nulls."""

    project: str
    authority: str | None
    party_id: UUID | None
    generation: int | None
    binding_id: UUID | None
    binding_revision: int | None
    present: bool | None

    def membership(self) -> Membership | None:
        """The membership, None if there never was one."""
        if (
            self.party_id is None
            or self.generation is None
            or self.binding_id is None
            or self.binding_revision is None
            or self.present is None
        ):
            return None
        return _membership(
            self.party_id, self.generation, self.binding_id, self.binding_revision, present=self.present
        )


def _membership(
    party_id: UUID, generation: int, binding_id: UUID, binding_revision: int, *, present: bool
) -> Membership:
    return Membership(PartyId(party_id), generation, BindingId(binding_id), binding_revision, present)


def project_binding_params(projects: Sequence[Project]) -> dict[str, object]:
    """The provider Projects of Projects, as columns, each ref in the form it is compared in."""
    rows = [(project, binding) for project in projects for binding in project.provider_bindings]
    return {
        "project_ids": [project.project_id for project, _ in rows],
        "providers": [binding.provider for _, binding in rows],
        "instances": [binding.instance for _, binding in rows],
        "refs": [comparable(binding.ref) for _, binding in rows],
    }


def party_binding_params(parties: Sequence[Party]) -> dict[str, object]:
    """The provider bindings of Parties, as columns."""
    rows = [(party, binding) for party in parties for binding in party.provider_bindings]
    return {
        "party_ids": [party.party_id for party, _ in rows],
        "binding_ids": [binding.binding_id for _, binding in rows],
        "revisions": [binding.revision for _, binding in rows],
        "providers": [binding.provider for _, binding in rows],
        "instances": [binding.instance for _, binding in rows],
        "subjects": [binding.subject for _, binding in rows],
        "established": [
            party.state is PartyState.ACTIVE and binding.state is BindingState.ESTABLISHED
            for party, binding in rows
        ],
    }


def membership_params(changed: Sequence[tuple[ProjectId, Membership]]) -> dict[str, object]:
    """Changed memberships, as columns."""
    return {
        "project_ids": [project for project, _ in changed],
        "party_ids": [membership.party_id for _, membership in changed],
        "generations": [membership.generation for _, membership in changed],
        "binding_ids": [membership.binding_id for _, membership in changed],
        "binding_revisions": [membership.binding_revision for _, membership in changed],
        "present": [membership.present for _, membership in changed],
    }
