"""The issuer's signing keys, read over HTTP (OpenID Connect Discovery §4, RFC 7517).

Keys are kept for `KeyLimits.fresh_for`; a token of an unknown key makes them be read again, at most once in
`KeyLimits.retry_after`. An issuer that cannot be read is `Unavailable`, never "unknown key" (X1); keys read
before serve on for `KeyLimits.usable_for`, so that a short outage of the issuer stops nobody.
"""

import json
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol
from urllib.parse import urlsplit

import urllib3
from jwt import PyJWK, PyJWTError

from central.kernel.errors import Unavailable

ISSUER_UNAVAILABLE: Final = "unavailable"
_ALGORITHM_OF: Final = {"RSA": "RS256", "EC": "ES256"}
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """Bounds of reading keys; sizes in bytes, `timeout` in seconds."""

    fresh_for: timedelta = timedelta(minutes=10)
    usable_for: timedelta = timedelta(hours=1)
    retry_after: timedelta = timedelta(seconds=10)
    timeout: float = 5.0
    body_max: int = 262_144
    keys_max: int = 64
    rsa_bits_min: int = 2048


KEY_LIMITS: Final = KeyLimits()


class Documents(Protocol):
    """Reads one JSON object by URL."""

    def read(self, url: str) -> dict[str, object]:
        """The object at `url`. Raises `Unavailable`."""
        ...


class HttpDocuments:
    """`Documents` over urllib3: no redirect, no retry, bounded time and size."""

    def __init__(self, ca_file: str | None = None) -> None:
        self._pool = urllib3.PoolManager(
            ca_certs=ca_file,
            timeout=KEY_LIMITS.timeout,
            retries=False,
            maxsize=2,
            headers={"Accept": "application/json"},
        )

    def read(self, url: str) -> dict[str, object]:
        """See `Documents`; anything but a 200 with a JSON object of bounded size is `Unavailable`."""
        try:
            answer = self._pool.request("GET", url, redirect=False, preload_content=False)
            try:
                body = answer.read(KEY_LIMITS.body_max + 1, decode_content=True)
            finally:
                answer.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _unavailable(f"{url} cannot be read ({type(error).__name__})") from error
        if answer.status != 200:
            raise _unavailable(f"{url} answers {answer.status}, 200 is needed")
        if len(body) > KEY_LIMITS.body_max:
            raise _unavailable(f"{url} answers more than {KEY_LIMITS.body_max} bytes")
        try:
            document = json.loads(body)
        except ValueError as error:
            raise _unavailable(f"{url} does not answer JSON") from error
        if not isinstance(document, dict):
            raise _unavailable(f"{url} does not answer a JSON object")
        return document


@dataclass(frozen=True, slots=True)
class KeySet:
    """The issuer's usable keys by id, and when they were read."""

    keys: dict[str, PyJWK]
    read_at: datetime


@dataclass(slots=True)
class IssuerKeys:
    """The key of a token, by its id. Safe to share between threads."""

    issuer: str
    documents: Documents
    _set: KeySet | None = None
    _tried_at: datetime | None = None
    _failure: Unavailable | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def key(self, key_id: str, now: datetime) -> PyJWK | None:
        """The key, or None when the issuer provably has none of this id. Raises `Unavailable`."""
        known = self._set
        if known is not None and key_id in known.keys and now - known.read_at < KEY_LIMITS.fresh_for:
            return known.keys[key_id]
        with self._lock:
            self._refresh(now)
            known = self._set
            if known is not None and key_id in known.keys and now - known.read_at < KEY_LIMITS.usable_for:
                return known.keys[key_id]
            if self._failure is not None:
                raise Unavailable(self._failure.code, self._failure.detail)
            return None

    def _refresh(self, now: datetime) -> None:
        if self._tried_at is not None and timedelta() <= now - self._tried_at < KEY_LIMITS.retry_after:
            return
        self._tried_at = now
        try:
            self._set = KeySet(self._read(), now)
            self._failure = None
        except Unavailable as failure:
            self._failure = failure

    def _read(self) -> dict[str, PyJWK]:
        discovery = self.documents.read(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
        if discovery.get("issuer") != self.issuer:
            raise _unavailable(f"the discovery document of {self.issuer} names another issuer")
        jwks_uri = discovery.get("jwks_uri")
        if not isinstance(jwks_uri, str) or not may_be_read(jwks_uri):
            raise _unavailable(f"the discovery document of {self.issuer} names no https jwks_uri")
        entries = self.documents.read(jwks_uri).get("keys")
        if not isinstance(entries, list) or len(entries) > KEY_LIMITS.keys_max:
            raise _unavailable(f"{jwks_uri} holds no list of at most {KEY_LIMITS.keys_max} keys")
        return {key.key_id: key for key in map(_usable, entries) if key is not None and key.key_id}


def may_be_read(url: str) -> bool:
    """True for https, and for http on this machine alone."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _usable(entry: object) -> PyJWK | None:
    """A signing key of a kind we verify with; others in the set are not ours to judge."""
    if (
        not isinstance(entry, dict)
        or entry.get("use", "sig") != "sig"
        or not isinstance(entry.get("kid"), str)
    ):
        return None
    algorithm = _ALGORITHM_OF.get(str(entry.get("kty")))
    if algorithm is None or entry.get("alg", algorithm) != algorithm:
        return None
    if algorithm == "ES256" and entry.get("crv") != "P-256":
        return None
    try:
        key = PyJWK(entry, algorithm=algorithm)
    except (PyJWTError, ValueError, TypeError):
        return None
    if algorithm == "RS256" and key.key.key_size < KEY_LIMITS.rsa_bits_min:
        return None
    return key


def _unavailable(detail: str) -> Unavailable:
    return Unavailable(ISSUER_UNAVAILABLE, detail)
