"""`GET …/grant`: what the caller's own grant is, for either scope (E3, I18). Body: docs/wire.md."""

from collections.abc import Callable
from typing import Final, Literal
from uuid import UUID

from flask import Blueprint, Response
from msgspec import Struct

from central.grants.domain.grant import Scope
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.http import answer, read_query
from central.kernel.times import format_rfc3339

SCHEMA: Final = 1


class GrantBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """The answer."""

    schema: Literal[1]
    site: str
    scopes: list[str]
    grant_id: UUID
    expires_at: str | None


def say_grant(caller: SiteCaller, scope: Scope) -> Callable[[], Response]:
    """The view: the grant of a caller who has `scope`."""

    def grant() -> Response:
        found = caller.grant(scope)
        read_query()
        return answer(
            GrantBody(
                schema=SCHEMA,
                site=found.site,
                scopes=[each.value for each in found.scopes],
                grant_id=found.grant_id,
                expires_at=format_rfc3339(found.expires_at) if found.expires_at else None,
            )
        )

    return grant


def commands_grant(caller: SiteCaller) -> Blueprint:
    """The route beside the commands'."""
    blueprint = Blueprint("site_commands_grant", __name__, url_prefix="/v1/site/commands")
    blueprint.add_url_rule("/grant", view_func=say_grant(caller, Scope.COMMANDS), methods=["GET"])
    return blueprint
