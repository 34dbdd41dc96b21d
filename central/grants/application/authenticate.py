"""A caller of the Site API shows a token (ledger E3, X5)."""

from dataclasses import dataclass
from datetime import datetime

from central.grants.application.ports import Grants
from central.grants.domain.grant import Grant, parse_token


class TokenInvalid(Exception):
    """Unknown, expired, revoked, wrong or no token at all: the caller is told which of these by nobody."""


@dataclass(frozen=True, slots=True)
class Authenticate:
    """The use case. It reads the grant each time, so a revocation holds from the next request on."""

    grants: Grants

    def __call__(self, token: str, now: datetime) -> Grant:
        """The grant the token opens. Raises `TokenInvalid`."""
        presented = parse_token(token)
        grant = self.grants.find(presented.grant_id) if presented else None
        if (
            presented is None
            or grant is None
            or not grant.opened_by(presented.secret)
            or not grant.valid(now)
        ):
            raise TokenInvalid
        if grant.use_is_due(now):
            self.grants.touch(grant.grant_id, now)
        return grant
