"""The Site API client: one HTTPS origin, a scoped bearer token, three outcomes (X1, I18).

The standard library's client: a pool, retries and redirects are not wanted here, little memory is (S10).

1. TLS 1.2 or newer against one CA file or the system's store; no proxy, no environment variable, is
   consulted.
2. A redirect is never followed: the token goes to this origin alone (K12).
3. An answer is bounded in size and in whole time, not only between two reads.
4. It is JSON without a content encoding, strictly decoded (X4).
5. Nothing is retried here: the caller decides when, from UnavailableError and its `retry_after`.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import RefusedError, SiteError, UnavailableError
from site_bundle.kernel.files import UntrustedInputError, read_input
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object, parse_object

T = TypeVar("T")

SCHEMA_RANGE = "1-1"


@dataclass(frozen=True, slots=True)
class SiteApiLimits:
    """Seconds and bytes."""

    connect_seconds: float = 10.0
    read_seconds: float = 20.0  # silence allowed between two reads
    whole_seconds: float = 30.0  # one answer from request to last byte
    answer_bytes: int = 1024 * 1024
    problem_bytes: int = 16 * 1024
    authority_bytes: int = 1024 * 1024
    retry_after_seconds: float = 600.0  # the longest Retry-After obeyed


class SiteApiUnavailableError(UnavailableError):
    """No answer, or one that says "later". `retry_after`: seconds the peer asked for, 0 when it did not."""

    def __init__(
        self, code: str, *, found: str, wanted: str = "", remedy: str = "", retry_after: float = 0.0
    ):
        super().__init__(code, found=found, wanted=wanted, remedy=remedy)
        self.retry_after = retry_after


class SiteApiRefusedError(RefusedError):
    """A definite 3xx or 4xx answer."""

    def __init__(self, code: str, *, status: int, found: str, wanted: str = "", remedy: str = ""):
        super().__init__(code, found=found, wanted=wanted, remedy=remedy)
        self.status = status


class SiteApi:
    """One origin and one credential. `get` and `post` answer a decoded document or raise."""

    def __init__(
        self,
        *,
        origin: str,
        credential: Credential,
        ca_file: Path | None,
        limits: SiteApiLimits,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`waiting` surrounds each exchange: nothing but waiting for the peer happens inside."""
        self._origin = origin
        self._credential = credential
        self._ca_file = ca_file
        self._limits = limits
        self._waiting = waiting
        self._connection: http.client.HTTPSConnection | None = None

    def get(self, path: str, shape: type[T], *, wait_seconds: float = 0.0) -> T:
        """GET `path` (with its query). `wait_seconds`: how long the other side may park the answer."""
        return self._call("GET", path, None, shape, wait_seconds)

    def post(self, path: str, body: bytes, shape: type[T]) -> T:
        """POST `body` byte for byte as JSON."""
        return self._call("POST", path, body, shape, 0.0)

    def close(self) -> None:
        """Closes the connection; the next call opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _call(self, method: str, path: str, body: bytes | None, shape: type[T], wait: float) -> T:
        headers = {
            "Authorization": f"Bearer {self._credential.read()}",
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "identity",
            "Pharos-Schema": SCHEMA_RANGE,
            "User-Agent": "pharos-site-bundle",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        with self._waiting():
            status, names, raw = self._exchange(method, path, body, headers, wait)
        return self._decode(status, names, raw, shape)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], wait: float
    ) -> tuple[int, dict[str, str], bytes]:
        deadline = time.monotonic() + self._limits.whole_seconds + wait
        kept = self._connection is not None
        try:
            try:
                response = self._send(method, path, body, headers, wait)
            except (http.client.RemoteDisconnected, ConnectionError):
                # The other side may have ended an idle connection; every call may be repeated (X7).
                if not kept:
                    raise
                self.close()
                response = self._send(method, path, body, headers, wait)
            raw = _read(response, self._limits.answer_bytes, deadline)
            if response.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise _unreachable(self._origin, error) from None
        except BaseException:
            self.close()  # half an answer may still be on its way
            raise
        return response.status, {name.lower(): value for name, value in response.headers.items()}, raw

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], wait: float
    ) -> http.client.HTTPResponse:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        connection.sock.settimeout(self._limits.read_seconds + wait)
        connection.request(method, path, body=body, headers=headers)
        return connection.getresponse()

    def _connect(self) -> http.client.HTTPSConnection:
        parts = urlsplit(self._origin)
        connection = http.client.HTTPSConnection(
            parts.hostname or "",
            parts.port,
            timeout=self._limits.connect_seconds,
            context=_tls(self._ca_file, self._limits),
        )
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    def _decode(self, status: int, names: dict[str, str], raw: bytes, shape: type[T]) -> T:
        if status in {200, 201, 202}:
            if names.get("content-encoding", "identity") != "identity":
                raise _not_understood(
                    f"status {status} with content-encoding {names['content-encoding'][:40]}"
                )
            if names.get("content-type", "").split(";")[0].strip() != "application/json":
                raise _not_understood(
                    f"status {status} with content-type {names.get('content-type', 'none')[:40]}"
                )
            try:
                return decode_object(raw, shape, max_bytes=self._limits.answer_bytes)
            except MalformedJsonError as error:
                raise _not_understood(f"status {status}, {error}") from error
        raise _failure(status, names, raw, self._limits)


def _tls(ca_file: Path | None, limits: SiteApiLimits) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=_authority(ca_file, limits) if ca_file else None)
    except UntrustedInputError as error:
        raise RefusedError(
            "ca_file_untrusted",
            found=str(error),
            wanted="a file that only root can change, in folders that only root can change, and no link: who"
            " can change it can be the Site API",
            remedy="compare it with the hand-off, then put a copy of root there with mode 0644",
        ) from error
    except (OSError, ValueError) as error:
        raise UnavailableError(
            "ca_file_unreadable",
            found=f"{ca_file}: {getattr(error, 'strerror', None) or 'no certificate in it'}",
            wanted="the PEM file of the CA that signed the Site API's certificate",
            remedy="correct site_api.ca_file in the profile",
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _authority(ca_file: Path, limits: SiteApiLimits) -> str:
    """The bytes that were judged are the bytes that are trusted (I18). Comments may be in any language."""
    text = read_input(ca_file, max_bytes=limits.authority_bytes).decode("ascii", "replace")
    if not text.strip():
        raise ValueError(f"{ca_file} is empty")  # which must never mean the system's store
    return text.replace("\ufffd", "?")


def _read(response: http.client.HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    """The whole body: at most `max_bytes`, until `deadline` (monotonic seconds)."""
    parts: list[bytes] = []
    size = 0
    while True:
        part = response.read1(64 * 1024)
        if not part:
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            response.close()
            return b"".join(parts)
        size += len(part)
        if size > max_bytes:
            raise _not_understood(f"an answer longer than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise SiteApiUnavailableError(
                "site_api_slow",
                found="the answer did not end in time",
                remedy="look at the network and at central",
            )
        parts.append(part)


def _unreachable(origin: str, error: Exception) -> SiteApiUnavailableError:
    kind = type(error).__name__
    if isinstance(error, ssl.SSLError):
        return SiteApiUnavailableError(
            "site_api_tls",
            found=f"{origin}: {getattr(error, 'verify_message', '') or error.reason or kind}",
            wanted="a certificate for this name, signed by the configured CA",
            remedy="compare site_api.url and site_api.ca_file in the profile with what is served there",
        )
    return SiteApiUnavailableError(
        "site_api_unreachable",
        found=f"{origin}: {getattr(error, 'strerror', None) or kind}",
        wanted="an answer over HTTPS",
        remedy="look at name resolution, the site's egress rules and central",
    )


def _not_understood(found: str) -> SiteApiUnavailableError:
    return SiteApiUnavailableError(
        "answer_malformed",
        found=found,
        wanted=f"JSON of schema {SCHEMA_RANGE}",
        remedy="compare the versions of central and of this release",
    )


@dataclass(frozen=True, slots=True)
class _Problem:
    code: str = ""


def _failure(status: int, names: dict[str, str], raw: bytes, limits: SiteApiLimits) -> SiteError:
    """What an answer other than success means. RFC 9110: 408, 425, 429 and 5xx are "later", the rest is
    definite.
    """
    problem = _problem(names, raw, limits)
    found = f"status {status}" + (f" {problem.code}" if problem.code else "")
    if status in {408, 425, 429} or status >= 500:
        return SiteApiUnavailableError(
            problem.code or "site_api_unavailable",
            found=found,
            remedy="nothing to do here; it is tried again",
            retry_after=_retry_after(names.get("retry-after", ""), limits),
        )
    if 300 <= status < 400:
        return SiteApiRefusedError(
            "site_api_redirect",
            status=status,
            found=found,
            wanted="the Site API itself under its own origin",
            remedy="correct site_api.url in the profile: redirects are never followed",
        )
    remedies = {
        401: "issue a grant at central (pharos-central grants issue), put its token in place, restart",
        403: "the grant must have the scope ssh-access",
        406: "central speaks no schema this release knows: upgrade one of the two",
        404: "correct site_api.url in the profile",
    }
    by_code = {"observed_in_future": "set this host's clock"}
    fallback = {401: "site_api_unauthorized", 403: "site_api_forbidden", 406: "schema_unsupported"}
    return SiteApiRefusedError(
        problem.code or fallback.get(status, "site_api_refused"),
        status=status,
        found=found,
        wanted="an accepted request",
        remedy=by_code.get(problem.code) or remedies.get(status, "read central's log for this time"),
    )


def _problem(names: dict[str, str], raw: bytes, limits: SiteApiLimits) -> _Problem:
    """The `code` of an RFC 9457 document, if it is one and the code is a plain word."""
    if names.get("content-type", "").split(";")[0].strip() != "application/problem+json":
        return _Problem()
    try:
        document = parse_object(raw, max_bytes=limits.problem_bytes)
    except MalformedJsonError:
        return _Problem()
    code = document.get("code")
    plain = isinstance(code, str) and len(code) <= 64 and code.replace("_", "").isalnum() and code.isascii()
    return _Problem(code=str(code) if plain else "")


def _retry_after(text: str, limits: SiteApiLimits) -> float:
    """Seconds only; a date would need the peer's clock to be ours."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return 0.0
    return min(float(text), limits.retry_after_seconds)
