"""A member's offline consent as it is kept (E5): what it opens, and when it is used again or is over. Pure.

1. The access token in hand serves while it lives `MARGIN` longer.
2. Otherwise the refresh token is used, and is replaced by what the issuer gives back (rotation).
3. An issuer's definite refusal ends the consent. Only the member can give another; nothing else revives it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

MARGIN: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the issuer gave. Never shown: `repr` tells the end alone."""

    access: str
    refresh: str
    access_expires_at: datetime

    def __repr__(self) -> str:
        return f"Tokens(access_expires_at={self.access_expires_at})"


@dataclass(frozen=True, slots=True)
class Consent:
    """One member's consent. `ended_at` None: it stands. `code_digest` names the code it came from."""

    tokens: Tokens
    consented_at: datetime
    refreshed_at: datetime
    ended_at: datetime | None = None
    code_digest: bytes | None = None

    @property
    def stands(self) -> bool:
        """Nobody ended it, as far as is known here."""
        return self.ended_at is None

    def serves(self, now: datetime) -> bool:
        """Rule 1."""
        return self.stands and now + MARGIN < self.tokens.access_expires_at


def refreshed(consent: Consent, tokens: Tokens, now: datetime) -> Consent:
    """Rule 2."""
    return replace(consent, tokens=tokens, refreshed_at=now)


def ended(consent: Consent, now: datetime) -> Consent:
    """Rule 3."""
    return consent if not consent.stands else replace(consent, ended_at=now)
