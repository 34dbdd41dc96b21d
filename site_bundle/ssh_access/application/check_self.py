"""`doctor`: every check that says whether the agent can do its work, each asked of the real thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.health import Check, Status

SCOPE = "ssh-access"
EXPIRY_WARNING = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Grant:
    """The grant behind the token. `expires_at` None: it does not expire."""

    site: str
    scopes: frozenset[str]
    expires_at: datetime | None


class GrantApi(Protocol):
    """Asks the Site API whose grant the token is."""

    def grant(self) -> Grant: ...


class DirectoryProbe(Protocol):
    """Asks the directory for identity, readability and rights."""

    def ensure_bound(self) -> bool: ...


class PeopleProbe(Protocol):
    """Asks the people's base."""

    def prove_readable(self) -> None: ...

    def prove_rights(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CheckSelf:
    """Runs all checks; none hides another. `process`: what the running agent says of itself."""

    grant_api: GrantApi
    directory: DirectoryProbe
    people: PeopleProbe
    probe_rights: bool
    cache_seconds: int
    process: Callable[[], Check]

    def run(self, *, now: datetime) -> tuple[Check, ...]:
        identity = self._try(
            "directory_identity", self.directory.ensure_bound, "bound and recognised by who-am-I"
        )
        checks = [self.process(), self._site_api(now), identity]
        if identity.status is Status.PASS:
            checks.append(
                self._try("directory_base", self.people.prove_readable, "base and probe entry are readable")
            )
            checks.append(self._rights())
        else:
            checks.extend(
                Check(
                    name,
                    Status.UNKNOWN,
                    "not asked: no verified connection",
                    "a verified connection",
                    identity.remedy,
                )
                for name in ("directory_base", "directory_rights")
            )
        checks.append(self._removal_delay())
        return tuple(checks)

    def _site_api(self, now: datetime) -> Check:
        try:
            grant = self.grant_api.grant()
        except SiteError as error:
            return Check.of_error("site_api", error)
        wanted = f"a grant with the scope {SCOPE}"
        if SCOPE not in grant.scopes:
            found = f"Site {grant.site}, scopes {', '.join(sorted(grant.scopes)) or 'none'}"
            return Check(
                "site_api", Status.FAIL, found, wanted, "issue a grant with this scope", "scope_missing"
            )
        if grant.expires_at is not None and grant.expires_at - now < EXPIRY_WARNING:
            found = f"Site {grant.site}, the grant ends {grant.expires_at.isoformat()}"
            return Check(
                "site_api", Status.WARN, found, "a grant that lasts", "issue the next one", "grant_ends_soon"
            )
        return Check("site_api", Status.PASS, f"Site {grant.site}", wanted)

    def _rights(self) -> Check:
        if not self.probe_rights:
            return Check(
                "directory_rights",
                Status.WARN,
                "not tried: no probe entry is configured, or the mode is observe",
                "add, read and delete on the administrators' probe entry",
                "set ldap.ssh_access.probe_entry in the profile",
                "rights_not_tried",
            )
        return self._try(
            "directory_rights", self.people.prove_rights, "added, read and deleted on the probe entry"
        )

    def _removal_delay(self) -> Check:
        found = f"a removed key may let in for {self.cache_seconds} s more: sssd's entry_cache_timeout"
        return Check("removal_delay", Status.PASS, found, "the delay the Site agreed to")

    @staticmethod
    def _try(check_id: str, act: Callable[[], object], found: str) -> Check:
        try:
            act()
        except SiteError as error:
            return Check.of_error(check_id, error)
        return Check(check_id, Status.PASS, found)
