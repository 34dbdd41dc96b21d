"""Who calls the Site API, and in which schema: the first thing each of its routes asks (E3, X10)."""

import re
from dataclasses import dataclass
from typing import Final

from flask import request

from central.grants.application.authenticate import Authenticate, TokenInvalid
from central.grants.domain.grant import Grant, Scope
from central.grants.problems import SCHEMA_UNSUPPORTED
from central.kernel.bearer import unauthenticated
from central.kernel.http import bearer_token
from central.kernel.problems import FORBIDDEN, REQUEST_MALFORMED, Problem
from central.kernel.times import Clock

SPOKEN: Final = (1, 1)
"""The first and last schema number this central speaks."""

_RANGE: Final = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class SiteCaller:
    """Opens a call: bearer, scope, schema range, in the wire's order."""

    authenticate: Authenticate
    clock: Clock

    def grant(self, scope: Scope) -> Grant:
        """The caller's grant. Raises the `Problem` of the first rule broken."""
        grant = self.check(bearer_token(), scope)
        check_schema(request.headers.get("Pharos-Schema"))
        return grant

    def check(self, token: str, scope: Scope) -> Grant:
        """The grant of a token, read now: a parked poll asks again before it answers."""
        try:
            grant = self.authenticate(token, self.clock())
        except TokenInvalid:
            raise unauthenticated("the bearer token is unknown, expired or revoked") from None
        if scope not in grant.scopes:
            held = ", ".join(grant.scopes)
            raise Problem(FORBIDDEN, f"this grant's scopes are {held}; {scope.value} is needed here")
        return grant


def check_schema(header: str | None) -> None:
    """Checks a `Pharos-Schema` header. Raises the `Problem` of rule 3 (docs/wire.md)."""
    match = _RANGE.fullmatch(header or "")
    if match is None or int(match[1]) > int(match[2]):
        raise Problem(REQUEST_MALFORMED, "the header `Pharos-Schema` is missing or no range such as `1-1`")
    if int(match[1]) > SPOKEN[1] or int(match[2]) < SPOKEN[0]:
        raise Problem(SCHEMA_UNSUPPORTED, f"schema {SPOKEN[0]} to {SPOKEN[1]} is spoken here")
