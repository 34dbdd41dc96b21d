"""The Flask application every HTTP process of central stands on (X4, X9; E08, E18, E19, G06).

Views use ``bearer_token``, ``read_query``, ``read_json``, ``idempotency_key`` and ``answer``, in that
order, and raise ``Problem``, ``Unavailable``, ``CorruptState`` or ``InvalidTime``; whatever they raise
becomes a problem document. Before any view: path, route, ``Accept``, ``Content-Encoding`` (so that is
refused before the credential).
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID, uuid4

from flask import Flask, Response, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.routing import RequestRedirect

from central.kernel import strict_json
from central.kernel.bearer import parse_bearer
from central.kernel.http_errors import (
    PROBLEM_CODE,
    Respond,
    as_problem,
    install_error_handlers,
    problem_response,
)
from central.kernel.http_guard import Environ, check_host, check_path, peer_address, raw_path
from central.kernel.integers import parse_integer
from central.kernel.observability import Metrics, bound, event
from central.kernel.problems import (
    BODY_TOO_LARGE,
    CONTENT_ENCODING_REFUSED,
    LENGTH_REQUIRED,
    MEDIA_TYPE_REFUSED,
    NOT_ACCEPTABLE,
    NOT_FOUND,
    QUERY_INVALID,
    REQUEST_MALFORMED,
    FieldError,
    Problem,
)
from central.kernel.strict_json import DEFAULT_LIMITS, JsonLimits
from central.kernel.uuids import dashed_uuid

if TYPE_CHECKING:
    from _typeshed import OptExcInfo
    from _typeshed.wsgi import StartResponse, WSGIApplication

T = TypeVar("T")
_LOG = logging.getLogger("central.http")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_ROUTE = "pharos.route"
METRICS = "pharos.metrics"
"""Where an application keeps its `Metrics` among its extensions."""
_REQUEST_ID = "HTTP_X_REQUEST_ID"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one HTTP process: body bytes (a route may set its own), path and query characters."""

    body_bytes: int = 1024 * 1024
    path_length: int = 2048
    query_length: int = 2048


DEFAULT_HTTP_LIMITS = HttpLimits()


def create_app(
    name: str,
    *,
    metrics: Metrics,
    ready: Callable[[], None],
    limits: HttpLimits = DEFAULT_HTTP_LIMITS,
    trusted_proxies: Collection[str] = (),
    media_type: str = "application/json",
    respond: Respond = problem_response,
) -> Flask:
    """Return the application with ``/healthz`` (the process alone), ``/readyz`` (calls ``ready``),
    ``/metrics``.

    ``ready`` raises ``Unavailable`` while the process cannot work. Add blueprints to it; no rule ends in a
    slash. ``media_type`` is what its views answer, ``respond`` how its refusals look.
    """
    app = Flask(name, static_folder=None, template_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=limits.body_bytes, PROVIDE_AUTOMATIC_OPTIONS=False)
    app.url_map.merge_slashes = False
    app.extensions[METRICS] = metrics
    install_error_handlers(app, metrics, respond)

    @app.before_request
    def _guard() -> None:
        check_host(request.environ)
        check_path(request.environ, path_length=limits.path_length, query_length=limits.query_length)
        if isinstance(request.routing_exception, RequestRedirect):
            raise Problem(NOT_FOUND, "no such path")
        if request.routing_exception is not None:
            raise request.routing_exception
        rule = request.url_rule.rule if request.url_rule is not None else ""
        request.environ[_ROUTE] = rule
        if "Content-Encoding" in request.headers:
            raise Problem(CONTENT_ENCODING_REFUSED, "send the body without Content-Encoding")
        accept = request.accept_mimetypes
        if rule not in _PROBES and "Accept" in request.headers and not accept[media_type]:
            raise Problem(NOT_ACCEPTABLE, f"answers are {media_type}; accept that")

    @app.get("/healthz")
    def _alive() -> Response:
        return answer({"status": "alive"})

    @app.get("/readyz")
    def _ready() -> Response:
        ready()
        return answer({"status": "ready"})

    @app.get("/metrics")
    def _metrics() -> Response:
        return Response(metrics.expose(), content_type="text/plain; version=0.0.4; charset=utf-8")

    app.wsgi_app = _Observed(app.wsgi_app, metrics, trusted_proxies)  # type: ignore[method-assign]
    return app


class _Observed:
    """Gives each request its id, counts it, and logs its one line, never the query or a header."""

    def __init__(self, inner: "WSGIApplication", metrics: Metrics, trusted_proxies: Collection[str]) -> None:
        self._inner = inner
        self._metrics = metrics
        self._trusted = trusted_proxies

    def __call__(self, environ: Environ, start_response: "StartResponse") -> Iterable[bytes]:
        request_id = _request_id(environ.get(_REQUEST_ID))
        answered: list[str] = ["500"]

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: "OptExcInfo | None" = None, /
        ) -> Callable[[bytes], object]:
            answered[0] = status[:3]
            present = {name.lower() for name, _ in headers}
            extra = {
                "X-Request-Id": request_id,
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
            }
            headers += [(name, value) for name, value in extra.items() if name.lower() not in present]
            return start_response(status, headers, exc_info)

        began = time.perf_counter()
        with bound(requestId=request_id), self._metrics.in_progress.track_inprogress():
            try:
                body = self._inner(environ, start)
            except Exception as error:  # noqa: BLE001 - the last edge: even a fault of ours answers a document
                problem = as_problem(error)
                environ[PROBLEM_CODE] = problem.code
                body = problem_response(problem, self._metrics)(environ, start)
            self._record(environ, answered[0], time.perf_counter() - began)
        return body

    def _record(self, environ: Environ, status: str, seconds: float) -> None:
        route = str(environ.get(_ROUTE) or "unmatched")
        method = str(environ.get("REQUEST_METHOD"))
        method = method if method in _METHODS else "other"
        code = environ.get(PROBLEM_CODE)
        self._metrics.requests.labels(route, method, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        event(
            _LOG,
            "request",
            level=logging.DEBUG if route in _PROBES else logging.INFO,
            method=method,
            route=route,
            path=raw_path(environ)[:256],
            status=int(status),
            **({"code": code} if code else {}),
            milliseconds=round(seconds * 1000, 1),
            peer=peer_address(environ, self._trusted),
        )


def _request_id(given: object) -> str:
    """The caller's id if it is a UUID (so that both ends' logs meet), otherwise a new one."""
    try:
        return str(UUID(str(given))) if given else str(uuid4())
    except ValueError:
        return str(uuid4())


def read_json(type_: type[T], *, limits: JsonLimits = DEFAULT_LIMITS, body_bytes: int | None = None) -> T:
    """Decode the request's body strictly; 415 for another content type, 413 over ``body_bytes``."""
    kind, options = parse_options_header(request.headers.get("Content-Type", ""))
    charset = options.pop("charset", "utf-8").lower()
    if kind.lower() != "application/json" or charset != "utf-8" or options:
        raise Problem(MEDIA_TYPE_REFUSED, "the body must be application/json in UTF-8; set Content-Type")
    if body_bytes is not None:
        request.max_content_length = body_bytes
    if request.content_length is None and "Transfer-Encoding" in request.headers:
        raise Problem(LENGTH_REQUIRED, "chunked bodies are not read; send Content-Length")
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge:
        cap = request.max_content_length
        raise Problem(BODY_TOO_LARGE, f"the body is larger than {cap} bytes; split it") from None
    except Exception:  # noqa: BLE001 - whatever the server raises, the caller's bytes were broken or ended
        raise Problem(REQUEST_MALFORMED, "the body ended before its Content-Length") from None
    return strict_json.decode(body, type_, limits=limits)


class Query:
    """The query parameters of one request, each known and given at most once."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def integer(self, name: str, *, minimum: int, maximum: int, default: int | None = None) -> int:
        """Return a whole number (plain digits) or ``default``; 400 ``query_invalid`` otherwise."""
        text = self._given.get(name)
        if text is None and default is not None:
            return default
        try:
            return parse_integer(text or "", minimum=minimum, maximum=maximum)
        except ValueError as error:
            raise _query_problem(name, str(error)) from None

    def text(self, name: str, *, max_length: int = 256) -> str | None:
        """Return the text or None if it is absent."""
        text = self._given.get(name)
        if text is not None and (len(text) > max_length or "\x00" in text):
            raise _query_problem(name, f"wanted at most {max_length} characters without NUL")
        return text


def read_query(*names: str) -> Query:
    """Return the query; 400 if it holds a parameter outside ``names`` or one twice. Authenticate first
    (E18).
    """
    given: dict[str, str] = {}
    for name, values in request.args.lists():
        if name not in names:
            raise _query_problem("", f"a parameter is unknown here; known: {', '.join(names) or 'none'}")
        if len(values) != 1:
            raise _query_problem(name, "given more than once")
        given[name] = values[0]
    return Query(given)


def _query_problem(name: str, reason: str) -> Problem:
    where = f"query parameter {name}: " if name else ""
    return Problem(QUERY_INVALID, where + reason, errors=[FieldError(name, reason)])


def bearer_token() -> str:
    """Return the request's bearer token or raise the 401 problem."""
    return parse_bearer(request.headers.get("Authorization"))


def idempotency_key() -> UUID:
    """Return the ``Idempotency-Key`` header, a UUID in its dashed form; 400 ``request_malformed``
    otherwise.
    """
    key = dashed_uuid(request.headers.get("Idempotency-Key", ""))
    if key is None:
        raise Problem(
            REQUEST_MALFORMED, "the Idempotency-Key header must be one UUID; send the same one on a retry"
        )
    return key


def answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return ``value`` as a JSON answer in its canonical encoding."""
    return Response(
        strict_json.encode(value), status=status, content_type="application/json", headers=headers
    )
