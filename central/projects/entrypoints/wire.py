"""Bodies of docs/wire.md that the view answers, schema 1, fields in the wire's order (X10)."""

from typing import Final, Literal
from uuid import UUID

from msgspec import Struct

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
