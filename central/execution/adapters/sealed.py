"""Tokens at rest: encrypted with keys that lie outside the database (E5, X5).

Fernet (AES-128-CBC with HMAC-SHA-256) of the `cryptography` library; the first key encrypts, every key
decrypts, so that a key is changed by putting the new one first and taking the old one away later.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from central.execution.domain.consent import Tokens
from central.kernel.errors import Unavailable
from central.kernel.times import stored_instant


class _Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    party: str
    access: str
    refresh: str
    expires: datetime


class Seal:
    """Seals and opens tokens. `keys` are Fernet keys (32 bytes, base64url), the newest first."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    def close(self, party: str, tokens: Tokens) -> bytes:
        """The sealed form, bound to its member."""
        body = _Sealed(party, tokens.access, tokens.refresh, tokens.access_expires_at)
        return self._fernet.encrypt(msgspec.json.encode(body))

    def open(self, party: str, sealed: bytes) -> Tokens:
        """The tokens. `Unavailable` when no key at hand opens it, or it is another member's."""
        try:
            body = msgspec.json.decode(self._fernet.decrypt(sealed), type=_Sealed)
        except (InvalidToken, msgspec.MsgspecError):
            raise Unavailable(
                "unavailable",
                "a consent cannot be opened with the keys at hand; restore the key it was sealed with",
            ) from None
        if body.party != party:
            raise Unavailable("unavailable", "a consent was sealed for another member; it is not used")
        return Tokens(body.access, body.refresh, stored_instant(body.expires))
