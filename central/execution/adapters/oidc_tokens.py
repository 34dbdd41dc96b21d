"""`TokenIssuer` over HTTP: the members' issuer at its token endpoint, as the confidential client (E5).

RFC 6749 §4.1.3 and §6, RFC 7636, RFC 8693, RFC 7009. A 400 or 401 with `invalid_grant` is the only definite
no; every other failure is `Unavailable`, so that an issuer's outage ends no consent (X1). Nothing of a
request or an answer is logged, and no error holds more than the status.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote, urlencode

import jwt

from central.execution.adapters.exchange import Exchange
from central.execution.application.member_consents import GrantRefused
from central.execution.application.ports import MemberToken
from central.execution.domain.consent import Tokens
from central.kernel.errors import Unavailable

ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a type's name
NAME: Final = "the members' issuer"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Seconds a token may live."""

    lifetime_max: int = 86_400


TOKEN_LIMITS: Final = TokenLimits()


@dataclass(frozen=True, slots=True)
class Client:
    """Central at the issuer."""

    client_id: str
    secret: str

    def __repr__(self) -> str:
        return f"Client({self.client_id!r})"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the issuer is asked; https, or this machine."""

    token: str
    revocation: str


class DiscoveredEndpoints:
    """Endpoints of the issuer's discovery document, read at the first use and kept.

    `read` reads a JSON object by URL or raises `Unavailable`; `may_be_asked` says which URLs are fit for
    secrets.
    """

    def __init__(
        self, issuer: str, read: Callable[[str], dict[str, object]], may_be_asked: Callable[[str], bool]
    ) -> None:
        self._issuer = issuer
        self._read = read
        self._may_be_asked = may_be_asked
        self._known: Endpoints | None = None

    def __call__(self) -> Endpoints:
        """The endpoints. `Unavailable`."""
        if self._known is None:
            document = self._read(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
            if document.get("issuer") != self._issuer:
                raise _unavailable("publishes a discovery document of another issuer")
            self._known = Endpoints(
                self._named(document, "token_endpoint"), self._named(document, "revocation_endpoint")
            )
        return self._known

    def _named(self, document: dict[str, object], name: str) -> str:
        url = document.get(name)
        if not isinstance(url, str) or not self._may_be_asked(url):
            raise _unavailable(f"publishes no https {name}")
        return url


class OidcTokens:
    """The adapter. Safe to share between threads."""

    def __init__(
        self, endpoints: Callable[[], Endpoints], client: Client, ca_file: str | None = None
    ) -> None:
        self._endpoints = endpoints
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
        self._authorization = "Basic " + base64.b64encode(pair.encode()).decode()
        self._exchange = Exchange(NAME, ca_file)

    def redeem(self, code: str, verifier: str, redirect_uri: str, now: datetime) -> tuple[str, Tokens]:
        """See `TokenIssuer`."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        tokens = self._tokens(form, now)
        # It came from the issuer itself, over TLS, in answer to this very request: its subject needs no
        # further proof (OpenID Connect Core 1.0 §3.1.3.7, item 6).
        claims = jwt.decode(tokens.access, options={"verify_signature": False})
        return str(claims.get("sub", "")), tokens

    def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """See `TokenIssuer`."""
        return self._tokens({"grant_type": "refresh_token", "refresh_token": refresh_token}, now)

    def exchange(self, access_token: str, audience: str, now: datetime) -> MemberToken:
        """See `TokenIssuer`."""
        form = {
            "grant_type": EXCHANGE,
            "subject_token": access_token,
            "subject_token_type": ACCESS_TOKEN,
            "audience": audience,
        }
        answer = self._ask(form)
        return MemberToken(_text(answer, "access_token"), now + _lifetime(answer))

    def revoke(self, refresh_token: str) -> None:
        """See `TokenIssuer`."""
        status, _ = self._post(
            self._endpoints().revocation, {"token": refresh_token, "token_type_hint": "refresh_token"}
        )
        if status != 200:
            raise _unavailable(f"answered {status} to a revocation")

    def _tokens(self, form: dict[str, str], now: datetime) -> Tokens:
        answer = self._ask(form)
        access, refresh = _text(answer, "access_token"), _text(answer, "refresh_token")
        return Tokens(access, refresh, now + _lifetime(answer))

    def _ask(self, form: dict[str, str]) -> dict[str, object]:
        status, body = self._post(self._endpoints().token, form)
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if status in (400, 401) and isinstance(answer, dict) and answer.get("error") == "invalid_grant":
            raise GrantRefused
        if status != 200 or not isinstance(answer, dict):
            raise _unavailable(f"answered {status}")
        return answer

    def _post(self, url: str, form: dict[str, str]) -> tuple[int, bytes]:
        headers = {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        answer = self._exchange("POST", url, headers, urlencode(form).encode())
        return answer.status, answer.body


def _text(answer: dict[str, object], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise _unavailable(f"answers no {name}")
    return value


def _lifetime(answer: dict[str, object]) -> timedelta:
    seconds = answer.get("expires_in")
    if type(seconds) is not int or not 0 < seconds <= TOKEN_LIMITS.lifetime_max:
        raise _unavailable("answers no lifetime in whole seconds")
    return timedelta(seconds=seconds)


def _unavailable(what: str) -> Unavailable:
    return Unavailable("unavailable", f"{NAME} {what}; the consent stands, try again")
