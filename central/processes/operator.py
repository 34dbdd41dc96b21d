"""What the operator's command line does with central's database, as the role `pharos_operator`."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.application.issue_grant import IssueGrant
from central.grants.domain.grant import SECRET_BYTES, Grant, GrantRefused, Scope
from central.kernel.database import Database, DatabaseOptions
from central.kernel.integers import parse_integer
from central.kernel.migrations import require_schema
from central.kernel.site_names import Site, no_such_site
from central.kernel.times import format_rfc3339, parse_rfc3339, utc_now
from central.processes.refusals import SiteUnknown
from central.processes.schema import CONTEXTS
from central.settings import Settings

NAME: Final = "operator"
_UNITS: Final = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """The operator's database for one command. Raises `MigrationRefused` for a schema not known here,
    `Unavailable`.
    """
    options = DatabaseOptions(url=settings.database_url, application=NAME, pool_size=1)
    with Database(options) as database:
        require_schema(database, CONTEXTS)
        yield database


def known_site(settings: Settings, site: str) -> Site:
    """A Site of this platform. Raises `SiteUnknown`."""
    if site not in settings.sites:
        raise SiteUnknown(no_such_site(site, settings.sites))
    return Site(site)


def issue_grant(
    settings: Settings, *, site: str, scopes: Sequence[str], expires: str | None, output: Path | None
) -> tuple[Grant, str]:
    """Issues a grant; its token goes to `output` (a new file, 0600) where one is named, and to the caller.

    The file is made before the grant, so that no grant is left whose token nobody has. Raises `GrantRefused`.
    """
    now = utc_now()
    with opened(settings) as database, _new_file(output) as write:
        use_case = IssueGrant(PostgresGrants(database), settings.sites)
        issued = use_case(
            grant_id=uuid4(),
            secret=secrets.token_bytes(SECRET_BYTES),
            site=site,
            scopes=tuple(Scope(scope) for scope in scopes),
            expires_at=parse_expiry(expires, now) if expires else None,
            now=now,
        )
        write(issued.token)
        return issued.grant, issued.token


def list_grants(settings: Settings) -> Sequence[Grant]:
    """Every grant."""
    with opened(settings) as database:
        return PostgresGrants(database).everything()


def revoke_grant(settings: Settings, grant_id: UUID) -> Grant:
    """Revokes from now on. Raises `GrantUnknown`."""
    with opened(settings) as database:
        return PostgresGrants(database).revoke(grant_id, utc_now())


def parse_expiry(text: str, now: datetime) -> datetime:
    """An RFC 3339 time, or a span from now such as `90d`, `12h`, `30m`. Raises `GrantRefused`."""
    unit = _UNITS.get(text[-1:])
    try:
        if unit is not None:
            return now + parse_integer(text[:-1], minimum=1, maximum=36_500) * unit
        return parse_rfc3339(text, field="a time")
    except ValueError as error:
        raise GrantRefused("grant_expiry", f"--expires: {error}; a span such as 90d is taken too") from None


def grant_document(grant: Grant, now: datetime) -> dict[str, object]:
    """A grant for people and programs; nothing of its secret."""
    state = "valid" if grant.valid(now) else ("revoked" if grant.revoked_at else "expired")
    return {
        "grantId": str(grant.grant_id),
        "site": grant.site,
        "scopes": [scope.value for scope in grant.scopes],
        "state": state,
        "issuedAt": format_rfc3339(grant.issued_at),
        "expiresAt": format_rfc3339(grant.expires_at) if grant.expires_at else None,
        "revokedAt": format_rfc3339(grant.revoked_at) if grant.revoked_at else None,
        "lastUsedAt": format_rfc3339(grant.last_used_at) if grant.last_used_at else None,
    }


class _Writer:
    """Writes one secret to an open file, or nowhere."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def __call__(self, text: str) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, f"{text}\n".encode("ascii"))
            os.fsync(self._descriptor)


@contextmanager
def _new_file(path: Path | None) -> Iterator[_Writer]:
    """A file of our own making, 0600, gone again if what fills it fails. Raises `GrantRefused`."""
    if path is None:
        yield _Writer(None)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GrantRefused(
            "grant_output",
            f"{path} cannot be made ({error.strerror}); name a new file in a folder you may write",
        ) from None
    try:
        os.fchmod(descriptor, 0o600)
        yield _Writer(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
