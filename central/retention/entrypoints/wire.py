"""Bodies of docs/wire.md that this context answers, schema 1, fields in the wire's order (X10)."""

from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

from msgspec import Struct

from central.kernel.site_names import Site
from central.retention.domain.retained import RetainedAccount

SCHEMA: Final = 1


class RetainedAccountBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """An account to keep."""

    project_id: UUID
    party_id: UUID
    binding_id: UUID
    generation: int
    username: str


class RetainedAccountsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`GET /resource-provisioning/<site>/retained-accounts`."""

    schema: Literal[1]
    site: str
    as_of: str
    count: int
    accounts: list[RetainedAccountBody]


def retained_body(site: Site, as_of: str, accounts: Sequence[RetainedAccount]) -> RetainedAccountsBody:
    """A complete list as its Site is told."""
    bodies = [
        RetainedAccountBody(each.project_id, each.party_id, each.binding_id, each.generation, each.username)
        for each in accounts
    ]
    return RetainedAccountsBody(SCHEMA, site, as_of, len(bodies), bodies)
