"""Beto's items as docs/wire.md writes them, schema 1, and their canonical encoding (P13, P14; X4).

Events carry one item, snapshot pages many; the fingerprint is over these bytes, so decoding and encoding
again must give the same ones.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from central.kernel.errors import InvalidTime
from central.kernel.questions import Count, ItemMalformed, Positive, UuidText
from central.kernel.times import format_rfc3339, parse_rfc3339
from central.projects.domain.authority import Authority, AuthorityState
from central.projects.domain.ids import BindingId, PartyId, ProjectId, Scope
from central.projects.domain.party import BindingState, Party, PartyBinding, PartyState
from central.projects.domain.project import BindingRef, Lifecycle, ListedMember, Project, ProviderProject
from central.projects.domain.revisions import Viewed

Opaque = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f]{1,255}\Z")]


class ProviderProjectBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a provider calls a Project."""

    provider: Literal["waldur"]
    instance: Opaque
    project_ref: Opaque


class BindingRefBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A member's verified binding."""

    binding_id: UuidText
    revision: Positive


class MemberBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A member."""

    party_id: UuidText
    binding: BindingRefBody | None


class ProjectBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`data` of `project.ProjectChanged`."""

    project_id: UuidText
    revision: Positive
    lifecycle: Literal["active", "closed"]
    provider_bindings: list[ProviderProjectBody]
    members: list[MemberBody]

    def value(self) -> Project:
        """The Project."""
        _distinct([body.party_id.lower() for body in self.members], "a member is listed twice")
        _distinct(self.provider_bindings, "a provider binding is listed twice")
        return Project(
            ProjectId(UUID(self.project_id)),
            self.revision,
            Lifecycle(self.lifecycle),
            tuple(
                ProviderProject(body.provider, body.instance, body.project_ref)
                for body in self.provider_bindings
            ),
            tuple(
                ListedMember(
                    PartyId(UUID(body.party_id)),
                    BindingRef(BindingId(UUID(body.binding.binding_id)), body.binding.revision)
                    if body.binding
                    else None,
                )
                for body in self.members
            ),
        )


class PartyBindingBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A Party's account at a provider."""

    binding_id: UuidText
    revision: Positive
    provider: Literal["site", "waldur"]
    instance: Opaque
    subject: Opaque
    state: Literal["established", "retired"]


class PartyBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`data` of `party.PartyChanged`."""

    party_id: UuidText
    revision: Positive
    state: Literal["active", "retired"]
    provider_bindings: list[PartyBindingBody]

    def value(self) -> Party:
        """The Party."""
        _distinct([body.binding_id.lower() for body in self.provider_bindings], "a binding is listed twice")
        return Party(
            PartyId(UUID(self.party_id)),
            self.revision,
            PartyState(self.state),
            tuple(
                PartyBinding(
                    BindingId(UUID(body.binding_id)),
                    body.revision,
                    body.provider,
                    body.instance,
                    body.subject,
                    BindingState(body.state),
                )
                for body in self.provider_bindings
            ),
        )


class AuthorityBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`data` of `project.ProjectAuthorityChanged`."""

    project_id: UuidText
    revision: Positive
    state: Literal["ready", "pending", "closed"]
    expires_at: str | None
    management_generation: Count

    def value(self) -> Authority:
        """The authority."""
        if (self.expires_at is not None) != (self.state == "ready"):
            raise ItemMalformed("expiresAt is a time exactly while the authority is ready")
        return Authority(
            ProjectId(UUID(self.project_id)),
            self.revision,
            AuthorityState(self.state),
            _time(self.expires_at) if self.expires_at is not None else None,
            self.management_generation,
        )


Body = ProjectBody | PartyBody | AuthorityBody
BODIES: Final[dict[Scope, type[ProjectBody] | type[PartyBody] | type[AuthorityBody]]] = {
    Scope.PROJECTS: ProjectBody,
    Scope.PARTIES: PartyBody,
    Scope.AUTHORITIES: AuthorityBody,
}


def scope_of(value: Viewed) -> Scope:
    """The scope an item belongs to."""
    if isinstance(value, Project):
        return Scope.PROJECTS
    return Scope.PARTIES if isinstance(value, Party) else Scope.AUTHORITIES


def encode_item(value: Viewed) -> bytes:
    """The canonical encoding of an item."""
    return msgspec.json.encode(_body(value))


def decode_item(scope: Scope, item: bytes | str) -> Viewed:
    """An item as it was encoded here. Raises `ItemMalformed`."""
    try:
        return msgspec.json.decode(item, type=BODIES[scope]).value()
    except msgspec.MsgspecError as error:
        raise ItemMalformed(str(error)) from None


def _body(value: Viewed) -> Body:
    if isinstance(value, Project):
        return ProjectBody(
            str(value.project_id),
            value.revision,
            value.lifecycle.value,
            [ProviderProjectBody("waldur", b.instance, b.ref) for b in value.provider_bindings],
            [
                MemberBody(
                    str(m.party_id),
                    BindingRefBody(str(m.binding.binding_id), m.binding.revision) if m.binding else None,
                )
                for m in value.members
            ],
        )
    if isinstance(value, Party):
        return PartyBody(
            str(value.party_id),
            value.revision,
            value.state.value,
            [_binding(b) for b in value.provider_bindings],
        )
    return AuthorityBody(
        str(value.project_id),
        value.revision,
        value.state.value,
        format_rfc3339(value.expires_at) if value.expires_at is not None else None,
        value.management_generation,
    )


def _binding(binding: PartyBinding) -> PartyBindingBody:
    return PartyBindingBody(
        str(binding.binding_id),
        binding.revision,
        "site" if binding.provider == "site" else "waldur",
        binding.instance,
        binding.subject,
        binding.state.value,
    )


def _distinct(values: Sequence[object], fault: str) -> None:
    if len(set(values)) != len(values):
        raise ItemMalformed(fault)


def _time(text: str) -> datetime:
    try:
        return parse_rfc3339(text)
    except InvalidTime as error:
        raise ItemMalformed(str(error)) from None
