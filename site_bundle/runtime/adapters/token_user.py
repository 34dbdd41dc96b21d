"""Whom Slurm takes the bearer of a token for (auth/jwt of slurm.conf(5), RFC 7519)."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from site_bundle.kernel.strict_json import parse_object
from site_bundle.slurm.submission import auth_parameters

MAX_CLAIMS = 16 * 1024
_SLURMS_OWN, _FALLBACK = "sun", "username"


@dataclass(frozen=True, slots=True)
class TokenUsers:
    """`claim`: what `userclaimfield=` names; None where Slurm's own two names stand."""

    claim: str | None

    @classmethod
    def of_settings(cls, settings: Mapping[str, str]) -> TokenUsers:
        """From the controller's settings."""
        return cls(auth_parameters(settings).get("userclaimfield") or None)

    def user(self, token: str) -> str | None:
        """The user's name; None when it cannot be said for sure, so when two claims contradict each other.

        The signature is Slurm's to judge.
        """
        claims = _claims(token)
        if self.claim is not None and self.claim not in claims:
            return None
        named = [claims[name] for name in {_SLURMS_OWN, self.claim or _FALLBACK} if name in claims]
        if not named or any(not isinstance(name, str) or name != named[0] for name in named):
            return None
        return str(named[0]) or None


@dataclass(slots=True)
class CurrentTokenUsers:
    """The same of the settings as they are now: `AuthAltParameters=` may change while this process runs, and
    a token judged by the old claim could be another user's to Slurm. Read anew when older than `seconds`.
    """

    settings: Callable[[], Mapping[str, str]]
    monotonic: Callable[[], float]
    seconds: float = 60.0
    known: TokenUsers | None = None
    read_at: float = 0.0

    def user(self, token: str) -> str | None:
        """As `TokenUsers.user`. UnavailableError while the settings cannot be read: nobody is assumed."""
        moment = self.monotonic()
        if self.known is None or moment - self.read_at >= self.seconds:
            self.known = None
            self.known = TokenUsers.of_settings(self.settings())
            self.read_at = moment
        return self.known.user(token)


def _claims(token: str) -> dict[str, Any]:
    """Empty when it is no token of this form."""
    parts = token.split(".")
    try:
        raw = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return parse_object(raw, max_bytes=MAX_CLAIMS) if len(parts) == 3 else {}
    except (IndexError, ValueError):
        return {}
