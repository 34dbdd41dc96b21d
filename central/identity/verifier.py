"""An access token → the member it names, or a refusal, or "the issuer cannot be asked" (X1)."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import jwt
from jwt import PyJWK

from central.identity.claims import ALGORITHMS, TOKEN_BYTES_MAX, Expected, TokenRefused, subject_of

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KEY_ID_MAX: Final = 255


class SigningKeys(Protocol):
    """Finds the issuer's key by its id."""

    def key(self, key_id: str, now: datetime) -> PyJWK | None:
        """The key, None if the issuer has none of this id. Raises `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """Checks tokens against one issuer's keys. `expected` pins issuer and audience."""

    expected: Expected
    keys: SigningKeys

    def member(self, token: str, now: datetime) -> str:
        """The subject. Raises `TokenRefused`, and `Unavailable` where the issuer's keys cannot be read."""
        if len(token) > TOKEN_BYTES_MAX or not _COMPACT.fullmatch(token):
            raise TokenRefused("this is no signed token in compact form")
        key = self.keys.key(_key_id(token), now)
        if key is None:
            raise TokenRefused("the token is signed with a key the issuer does not publish")
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                options={
                    "verify_signature": True,
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_aud": False,
                    "verify_iss": False,
                    "verify_sub": False,
                    "verify_jti": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise TokenRefused("the token's signature or form is wrong") from error
        return subject_of(claims, self.expected, now)


def _key_id(token: str) -> str:
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise TokenRefused("the token's header cannot be read") from error
    if header.get("alg") not in ALGORITHMS:
        raise TokenRefused(f"the token is not signed with {' or '.join(ALGORITHMS)}")
    if "crit" in header:
        raise TokenRefused("the token's header asks for extensions nobody here knows (crit)")
    key_id = header.get("kid")
    if not isinstance(key_id, str) or not 0 < len(key_id) <= _KEY_ID_MAX:
        raise TokenRefused("the token does not name its key (kid)")
    return key_id
