"""A Site grant: what lets one Site's agent speak to the Site API, in one scope (ledger E3, I18).

The token is `phs1_<grant id, 32 hex>_<secret, 43 base64url>`. Central keeps the SHA-256 of the secret only;
256 random bits need no slow hash. Two grants of a Site and scope may be valid at once, so that a token can
be replaced without a gap; a third is refused.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from central.kernel.secret_digests import same_bytes, secret_digest

TOKEN_FORM: Final = re.compile(r"phs1_([0-9a-f]{32})_([A-Za-z0-9_-]{43})")
SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class GrantLimits:
    """Bounds of grants. `use_resolution` is how coarse the time of last use is kept."""

    valid_at_once: int = 2
    use_resolution: timedelta = timedelta(minutes=1)


GRANT_LIMITS: Final = GrantLimits()


class Scope(StrEnum):
    """The two scopes of the Site API (I18)."""

    COMMANDS = "commands"
    SSH_ACCESS = "ssh-access"


@dataclass(frozen=True, slots=True)
class Grant:
    """One grant as kept. `secret_digest` is 32 bytes; `expires_at` None = until revoked."""

    grant_id: UUID
    site: str
    scopes: tuple[Scope, ...]
    secret_digest: bytes
    issued_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def valid(self, now: datetime) -> bool:
        """Not revoked, and not at or past its expiry."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def opened_by(self, secret: str) -> bool:
        """Constant-time comparison with what a caller presented (X5)."""
        return same_bytes(self.secret_digest, secret_digest(secret))

    def use_is_due(self, now: datetime) -> bool:
        """True when the time of last use is older than its resolution."""
        return self.last_used_at is None or now - self.last_used_at >= GRANT_LIMITS.use_resolution


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """The two parts of a token as it came in; its form is right, nothing else is known of it."""

    grant_id: UUID
    secret: str


class GrantRefused(Exception):
    """A grant that is not issued. The text says what was found and what to do."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def format_token(grant_id: UUID, secret: bytes) -> str:
    """The bearer token of a grant. `secret` is 32 random bytes."""
    return f"phs1_{grant_id.hex}_{secret_text(secret)}"


def secret_text(secret: bytes) -> str:
    """base64url without padding (RFC 4648 §5): 43 characters for 32 bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a grant's secret has {SECRET_BYTES} bytes")
    return urlsafe_b64encode(secret).decode("ascii").rstrip("=")


def parse_token(text: str) -> PresentedToken | None:
    """None for anything that is not a token's form; no reason is given to a caller who has none."""
    match = TOKEN_FORM.fullmatch(text)
    return PresentedToken(UUID(hex=match[1]), match[2]) if match else None


def issue(
    standing: Sequence[Grant],
    *,
    grant_id: UUID,
    site: str,
    scopes: tuple[Scope, ...],
    secret: bytes,
    expires_at: datetime | None,
    now: datetime,
) -> Grant:
    """Decides a new grant beside `standing`, the grants of this Site. Raises `GrantRefused`."""
    if not scopes:
        raise GrantRefused("grant_scope", "a grant needs a scope: ssh-access, commands or both")
    if expires_at is not None and expires_at <= now:
        raise GrantRefused("grant_expiry", f"the expiry {expires_at.isoformat()} is not in the future")
    for scope in scopes:
        valid = [grant for grant in standing if grant.valid(now) and scope in grant.scopes]
        if len(valid) >= GRANT_LIMITS.valid_at_once:
            shown = " and ".join(str(grant.grant_id) for grant in valid)
            raise GrantRefused(
                "grant_limit",
                f"{site} has {len(valid)} valid {scope.value} grants already ({shown}); revoke one first",
            )
    return Grant(
        grant_id=grant_id,
        site=site,
        scopes=tuple(sorted(set(scopes))),
        secret_digest=secret_digest(secret_text(secret)),
        issued_at=now,
        expires_at=expires_at,
        revoked_at=None,
        last_used_at=None,
    )
