"""An operator issues a grant to a Site (ledger E3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from central.grants.application.ports import Grants
from central.grants.domain.grant import Grant, GrantRefused, Scope, format_token, issue
from central.kernel.site_names import no_such_site


@dataclass(frozen=True, slots=True)
class Issued:
    """A new grant and its token, which is never to be seen again."""

    grant: Grant
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IssueGrant:
    """The use case. `sites` are the environments this platform knows (P32)."""

    grants: Grants
    sites: tuple[str, ...]

    def __call__(
        self,
        *,
        grant_id: UUID,
        secret: bytes,
        site: str,
        scopes: tuple[Scope, ...],
        expires_at: datetime | None,
        now: datetime,
    ) -> Issued:
        """`grant_id` and `secret` are fresh random values. Raises `GrantRefused`."""
        if site not in self.sites:
            raise GrantRefused("site_unknown", no_such_site(site, self.sites))

        def decide(standing: Sequence[Grant]) -> Grant:
            return issue(
                standing,
                grant_id=grant_id,
                site=site,
                scopes=scopes,
                secret=secret,
                expires_at=expires_at,
                now=now,
            )

        return Issued(self.grants.issue(site, decide), format_token(grant_id, secret))
