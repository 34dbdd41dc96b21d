"""The Flask application every HTTP process of central stands on (X4, X9; E08, E18, E19, G06).

Views use ``read_json``, ``read_query``, ``bearer_token``, ``idempotency_key`` and ``answer`` and raise ``Problem``,
``Unavailable``, ``CorruptState`` or ``InvalidTime``; everything becomes a problem document with ``X-Request-Id``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from flask import Flask, Response

from central.kernel.observability import Metrics
from central.kernel.strict_json import JsonLimits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one HTTP process: body bytes, path and query lengths."""

    body_bytes: int = 1024 * 1024
    path_length: int = 2048
    query_length: int = 2048


def create_app(
    name: str,
    *,
    metrics: Metrics,
    ready: Callable[[], None],
    limits: HttpLimits = HttpLimits(),
    trusted_proxies: int = 0,
) -> Flask:
    """Return the application with ``/healthz``, ``/readyz`` (calls ``ready``) and ``/metrics``; add blueprints to it."""
    raise NotImplementedError


def read_json(type_: type[T], *, limits: JsonLimits = JsonLimits(), body_bytes: int | None = None) -> T:
    """Decode the request's body strictly; 415 for another content type, 413 over ``body_bytes``."""
    raise NotImplementedError


class Query:
    """The query parameters of one request, each known and given at most once."""

    def integer(self, name: str, *, default: int, minimum: int, maximum: int) -> int:
        """Return a whole number (plain digits) or ``default``; 400 ``query_invalid`` otherwise."""
        raise NotImplementedError

    def text(self, name: str, *, default: str | None = None, max_length: int = 256) -> str | None:
        """Return the text or ``default``."""
        raise NotImplementedError


def read_query(*names: str) -> Query:
    """Return the query; 400 if it holds a parameter outside ``names`` or one twice. Authenticate first (E18)."""
    raise NotImplementedError


def bearer_token() -> str:
    """Return the request's bearer token or raise the 401 problem."""
    raise NotImplementedError


def idempotency_key() -> UUID:
    """Return the ``Idempotency-Key`` header, a UUID; 400 ``request_malformed`` otherwise."""
    raise NotImplementedError


def answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a canonical JSON answer."""
    raise NotImplementedError
