"""Bodies of docs/wire.md that the view answers, schema 1, fields in the wire's order (X10)."""

from typing import Final, Literal
from uuid import UUID

from msgspec import Struct

from central.kernel.times import format_rfc3339
from central.projects.application.list_members import MemberList
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


class MembersBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`GET /resource-provisioning/<site>/members`."""

    schema: Literal[1]
    project_id: UUID
    as_of: str
    count: int
    members: list[ListedMemberBody]


def members_body(found: MemberList) -> MembersBody:
    """A Project's members as their Site is told."""
    rows = [
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
    return MembersBody(SCHEMA, found.project_id, format_rfc3339(found.as_of), len(rows), rows)
