"""What an access token must say before its subject counts as a member. Pure.

1. the signature's algorithm is the one the issuer's key is made for, RS256 or ES256;
2. issuer and audience are exactly the configured ones;
3. it expires, has not expired, and is not from the future (`LEEWAY` both ways);
4. its subject is 1 to 255 printable ASCII characters (OpenID Connect Core §2).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LEEWAY: Final = timedelta(seconds=5)
ALGORITHMS: Final = ("RS256", "ES256")
TOKEN_BYTES_MAX: Final = 4096

_SUBJECT: Final = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Expected:
    """The one issuer and the one audience whose tokens are taken."""

    issuer: str
    audience: str


class TokenRefused(Exception):
    """A token that proves nothing. The text names the rule broken and never repeats the token (X5)."""


def subject_of(claims: Mapping[str, object], expected: Expected, now: datetime) -> str:
    """The member a token with a verified signature names. Raises `TokenRefused`."""
    if claims.get("iss") != expected.issuer:
        raise TokenRefused("the token is of another issuer")
    if expected.audience not in _audiences(claims.get("aud")):
        raise TokenRefused(f"the token is not for the audience {expected.audience}")
    moment = now.timestamp()
    leeway = LEEWAY.total_seconds()
    if moment >= _seconds(claims, "exp", required=True) + leeway:
        raise TokenRefused("the token has expired")
    for name in ("nbf", "iat"):
        if moment < _seconds(claims, name, required=False) - leeway:
            raise TokenRefused(f"the token is not valid yet ({name})")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        raise TokenRefused("the token names no subject of 1 to 255 printable ASCII characters")
    return subject


def _audiences(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _seconds(claims: Mapping[str, object], name: str, *, required: bool) -> float:
    """A NumericDate (RFC 7519 §2). An absent optional one never stands in the way."""
    value = claims.get(name)
    if value is None and not required:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise TokenRefused(f"the token's {name} is missing or no time")
    return value
