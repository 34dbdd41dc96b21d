"""Who calls the Site API, and in which schema: the first thing each of its routes asks (E3, X10)."""

from dataclasses import dataclass

from flask import request

from central.grants.application.authenticate import Authenticate, TokenInvalid
from central.grants.domain.grant import Grant, Scope
from central.kernel.bearer import unauthenticated
from central.kernel.http import bearer_token
from central.kernel.problems import FORBIDDEN, Problem
from central.kernel.times import Clock
from central.kernel.wire_schema import check_schema


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
