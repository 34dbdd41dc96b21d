"""Bodies of docs/wire.md that the view answers, schema 1, fields in the wire's order (X10)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct

from central.kernel.errors import Unavailable
from central.kernel.times import format_rfc3339
from central.projects.application.list_members import Listed, MemberList
from central.projects.domain.roster import SiteMember

SCHEMA: Final = 1


class MemberBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`GET /resource-provisioning/<site>/members/<username>`."""

    schema: Literal[1]
    project_id: UUID
    party_id: UUID
    binding_id: UUID
    binding_revision: int
    generation: int
    state: Literal["active", "retired"]


def member_body(member: SiteMember) -> MemberBody:
    """A member as its Site is told."""
    return MemberBody(
        SCHEMA,
        member.project_id,
        member.party_id,
        member.binding_id,
        member.binding_revision,
        member.generation,
        member.standing.value,
    )


class ListedMemberBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """A row of `MembersBody`."""

    username: str
    party_id: UUID
    binding_id: UUID
    binding_revision: int
    generation: int
    state: Literal["active", "retired"]


class ProjectMembersRequest(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`POST /resource-provisioning/<site>/project-members`."""

    schema: Literal[1]
    provider_project_refs: Annotated[list[str], Meta(min_length=1)]


class OneProjectBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A Project of `ProjectMembersBody`: its members, or the `code` why there are none."""

    provider_project_ref: str
    project_id: UUID | None
    code: Literal["project_unknown", "unavailable"] | None
    count: int
    members: list[ListedMemberBody]


class ProjectMembersBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The answer about the first of the Projects asked for."""

    schema: Literal[1]
    as_of: str
    projects: list[OneProjectBody]


class MembersBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`GET /resource-provisioning/<site>/members`."""

    schema: Literal[1]
    project_id: UUID
    as_of: str
    count: int
    members: list[ListedMemberBody]


def members_body(found: MemberList) -> MembersBody:
    """A Project's members as their Site is told."""
    rows = _rows(found)
    return MembersBody(SCHEMA, found.project_id, format_rfc3339(found.as_of), len(rows), rows)


def project_members_body(refs: Sequence[str], found: Sequence[Listed], as_of: datetime) -> ProjectMembersBody:
    """The members of the first of several Projects as their Site is told."""
    projects = [_one_project(ref, each) for ref, each in zip(refs, found, strict=False)]
    return ProjectMembersBody(SCHEMA, format_rfc3339(as_of), projects)


def _one_project(ref: str, found: Listed) -> OneProjectBody:
    match found:
        case None:
            return OneProjectBody(ref, None, "project_unknown", 0, [])
        case Unavailable():
            return OneProjectBody(ref, None, "unavailable", 0, [])
        case MemberList():
            rows = _rows(found)
            return OneProjectBody(ref, found.project_id, None, len(rows), rows)


def _rows(found: MemberList) -> list[ListedMemberBody]:
    return [
        ListedMemberBody(
            row.username,
            row.member.party_id,
            row.member.binding_id,
            row.member.binding_revision,
            row.member.generation,
            row.member.standing.value,
        )
        for row in found.members
    ]
