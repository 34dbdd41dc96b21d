"""A client of central's calls: a scoped bearer, JSON of one schema range, problems by code (X1, X4, X10).

The Site API and the Site intake are two origins with the same rules: one client, and `Peer` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.https import (
    Answer,
    HttpsLimits,
    HttpsOrigin,
    Peer,
    PeerRefusedError,
    PeerUnavailableError,
    failure,
    malformed_answer,
)
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object, parse_object

T = TypeVar("T")

SCHEMA_RANGE = "1-1"
SITE_API = Peer(
    prefix="site_api",
    title="the Site API",
    profile="site_api.url",
    log="central",
    remedies={
        401: "issue a grant at central (pharos-central grants issue), put its token in place, restart",
        403: "the grant must have the scope ssh-access",
        404: "correct site_api.url in the profile",
        406: "central speaks no schema this release knows: upgrade one of the two",
    },
)
_BY_CODE = {"observed_in_future": "set this host's clock"}

SiteApiLimits = HttpsLimits
SiteApiUnavailableError = PeerUnavailableError
SiteApiRefusedError = PeerRefusedError


class SiteApi:
    """One origin and one credential. `get` and `post` answer a decoded document or raise."""

    def __init__(
        self,
        *,
        origin: str,
        credential: Credential,
        ca_file: Path | None,
        limits: HttpsLimits,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        peer: Peer = SITE_API,
    ) -> None:
        """`waiting` surrounds each exchange: nothing but waiting for the peer happens inside."""
        self._peer = peer
        self._credential = credential
        self._limits = limits
        self._origin = HttpsOrigin(peer=peer, origin=origin, ca_file=ca_file, limits=limits, waiting=waiting)

    def get(self, path: str, shape: type[T], *, wait_seconds: float = 0.0) -> T:
        """GET `path` (with its query). `wait_seconds`: how long the other side may park the answer."""
        return self._call("GET", path, None, shape, wait_seconds)

    def post(self, path: str, body: bytes, shape: type[T]) -> T:
        """POST `body` byte for byte as JSON."""
        return self._call("POST", path, body, shape, 0.0)

    def put(self, path: str, body: bytes) -> None:
        """PUT `body` byte for byte as JSON; the answer is 204 without content."""
        answer = self._exchange("PUT", path, body, 0.0)
        if answer.status != 204:
            raise self._failure(answer)

    def close(self) -> None:
        """Closes the connection; the next call opens a new one."""
        self._origin.close()

    def _call(self, method: str, path: str, body: bytes | None, shape: type[T], wait: float) -> T:
        return self._decode(self._exchange(method, path, body, wait), shape)

    def _exchange(self, method: str, path: str, body: bytes | None, wait: float) -> Answer:
        headers = {
            "Authorization": f"Bearer {self._credential.read()}",
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "identity",
            "Pharos-Schema": SCHEMA_RANGE,
            "User-Agent": "pharos-site-bundle",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        return self._origin.exchange(method, path, headers, body=body, wait_seconds=wait)

    def _decode(self, answer: Answer, shape: type[T]) -> T:
        if answer.status not in {200, 201, 202}:
            raise self._failure(answer)
        if answer.headers.get("content-encoding", "identity") != "identity":
            encoding = answer.headers["content-encoding"][:40]
            raise _not_understood(f"status {answer.status} with content-encoding {encoding}")
        if answer.media_type != "application/json":
            found = answer.headers.get("content-type", "none")[:40]
            raise _not_understood(f"status {answer.status} with content-type {found}")
        try:
            return decode_object(answer.body, shape, max_bytes=self._limits.answer_bytes)
        except MalformedJsonError as error:
            raise _not_understood(f"status {answer.status}, {error}") from error

    def _failure(self, answer: Answer) -> SiteError:
        code = _problem_code(answer, self._limits)
        error = failure(self._peer, answer, self._limits, code=code)
        if answer.status == 406 and not code:
            error.code = "schema_unsupported"
        error.remedy = _BY_CODE.get(code, error.remedy)
        return error


def _not_understood(found: str) -> PeerUnavailableError:
    return malformed_answer(found, f"JSON of schema {SCHEMA_RANGE}")


def _problem_code(answer: Answer, limits: HttpsLimits) -> str:
    """The `code` of an RFC 9457 document, if it is one and the code is a plain word; else nothing."""
    if answer.media_type != "application/problem+json":
        return ""
    try:
        document: Mapping[str, object] = parse_object(answer.body, max_bytes=limits.problem_bytes)
    except MalformedJsonError:
        return ""
    code = document.get("code")
    plain = isinstance(code, str) and len(code) <= 64 and code.replace("_", "").isalnum() and code.isascii()
    return str(code) if plain else ""
