"""Runs one HTTP process under gunicorn (X13; F10, G02–G06).

1. ``build`` runs in each worker after the fork: pools and LISTEN connections belong to one process.
2. At the first stop signal ``Service.stopping`` lets parked polls answer, then requests get
   ``graceful_seconds``.
3. Nobody's ``X-Forwarded-*`` or ``Script-Name`` header is believed, headers with an underscore are dropped,
   and HTTP that two readers could read differently is refused (gunicorn's strict defaults are stated, not
   assumed).
4. No control socket, no server log of its own beside our lines, no settings from gunicorn's environment or
   files.
5. A client that sends half a request and waits gives its thread back after ``receive_seconds``.
"""

import contextlib
import logging
import os
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any

from flask import Flask
from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from central.kernel.http_errors import PROBLEM_TYPE
from central.kernel.http_guard import Environ
from central.kernel.observability import event
from central.kernel.problems import (
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
    REQUEST_MALFORMED,
    URI_TOO_LONG,
    Problem,
    ProblemSpec,
)

_LOG = logging.getLogger("central.serving")


@dataclass(frozen=True, slots=True)
class Service:
    """What a composition root builds inside the worker: the application and how to stop what it opened.

    ``stopping`` is called at the first stop signal (parked polls answer), ``close`` after the last request.
    """

    app: Flask
    stopping: Callable[[], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where and how to listen; ``threads`` = sites × pollers + 16 for the Site API (``site_api_threads``).

    With several ``workers`` each counts for itself and ``/metrics`` shows the one that answers: run one
    worker and more replicas where that matters.
    """

    host: str
    port: int
    threads: int
    workers: int = 1
    certificate: Path | None = None
    key: Path | None = None
    timeout_seconds: int = 90
    graceful_seconds: int = 20
    keepalive_seconds: int = 5
    receive_seconds: int = 10


def site_api_threads(sites: int, pollers: int) -> int:
    """Threads of the Site API: each parked poll its own, and 16 for everything else (X13)."""
    return sites * pollers + 16


def serve(build: Callable[[], Service], options: ServingOptions) -> int:
    """Serve until stopped and return the exit code; configure logging and check the schema before.

    ``OSError`` or a bad certificate ends with a code other than 0 and a log line.
    """
    os.environ.pop("SCRIPT_NAME", None)  # gunicorn would take a path prefix from it
    application = _Application(build, options)
    try:
        Arbiter(application).run()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 1
    return 0


class _Application(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    def __init__(self, build: Callable[[], Service], options: ServingOptions) -> None:
        self._build = build
        self._options = options
        self.service: Service | None = None
        self.receive_seconds = options.receive_seconds
        super().__init__()

    def load_config(self) -> None:
        for name, value in gunicorn_settings(self._options).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        self.service = self._build()
        return self.service.app


def gunicorn_settings(options: ServingOptions) -> dict[str, Any]:
    """Return every gunicorn setting we rely on; the rest keeps gunicorn's default."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return {
        "bind": f"{host}:{options.port}",
        "workers": options.workers,
        "worker_class": _Worker,
        "threads": options.threads,
        "worker_connections": options.threads + 256,
        "reuse_port": True,
        "preload_app": False,
        "timeout": options.timeout_seconds,
        "graceful_timeout": options.graceful_seconds,
        "keepalive": options.keepalive_seconds,
        "certfile": str(options.certificate) if options.certificate else None,
        "keyfile": str(options.key) if options.key else None,
        "ssl_context": _tls,
        "http_parser": "python",
        "limit_request_line": 8190,
        "limit_request_fields": 64,
        "limit_request_field_size": 8190,
        "header_map": "drop",
        "forwarder_headers": "",
        "forwarded_allow_ips": "",
        "secure_scheme_headers": {},
        "proxy_protocol": "off",
        "strip_header_spaces": False,
        "permit_obsolete_folding": False,
        "permit_unconventional_http_method": False,
        "permit_unconventional_http_version": False,
        "casefold_http_method": False,
        "control_socket_disable": True,
        "logger_class": _Log,
        "accesslog": None,
        "errorlog": "-",
        "loglevel": "warning",
    }


def _tls(_: object, default: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    context = default()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class _Log(Logger):  # type: ignore[misc]
    """Sends gunicorn's own messages through the process's lines."""

    def exception(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """A client that sent nothing more is no fault of ours, and no traceback's worth."""
        if isinstance(sys.exc_info()[1], BlockingIOError | ssl.SSLWantReadError):
            event(_LOG, "client_too_slow", level=logging.WARNING)
            return
        super().exception(msg, *args, **kwargs)

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers[:] = []
        self.error_log.propagate = True


class _Worker(ThreadWorker):  # type: ignore[misc]
    """Lets parked polls answer when stopped, closes what was opened, answers broken HTTP with a document."""

    wsgi: Any

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.alive and self.app.service is not None:
            # A signal handler must not wait for a lock that the interrupted code may hold.
            threading.Thread(target=self.app.service.stopping, name="stopping", daemon=True).start()
        super().handle_exit(sig, frame)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        inner = self.wsgi

        def closing(environ: Environ, start_response: Any) -> Iterable[bytes]:
            """An answer given while stopping says `Connection: close`, also to who asked before (G03)."""

            def start(*arguments: Any) -> Any:
                if not self.alive:
                    start_response.__self__.force_close()
                return start_response(*arguments)

            answered: Iterable[bytes] = inner(environ, start)
            return answered

        self.wsgi = closing

    def run(self) -> None:
        event(_LOG, "serving", port=self.app.cfg.address[0][1], threads=self.cfg.threads)
        try:
            super().run()
        finally:
            self.app.service.close()
            event(_LOG, "stopped")

    def enqueue_req(self, conn: Any) -> None:
        """Bound the wait for a request's bytes, which gunicorn does not: socket(7), SO_RCVTIMEO.

        On each connection and not once on the listener: those the kernel took before this worker ran would
        not inherit it.
        """
        if not conn.initialized:
            patience = struct.pack("@ll", self.app.receive_seconds, 0)
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        super().enqueue_req(conn)

    def handle_error(self, req: object, client: Any, addr: object, exc: Exception) -> None:  # noqa: ARG002
        if isinstance(exc, ssl.SSLError):
            return
        spec = _refusal(exc)
        event(_LOG, "request_refused", level=logging.WARNING, code=spec.code, kind=type(exc).__name__)
        body = Problem(spec, spec.meaning).document()
        head = (
            f"HTTP/1.1 {spec.status} {HTTPStatus(spec.status).phrase}\r\nConnection: close\r\n"
            f"Content-Type: {PROBLEM_TYPE}\r\nCache-Control: no-store\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            util.write_nonblock(client, head.encode("latin-1") + body)


def _refusal(error: Exception) -> ProblemSpec:
    if isinstance(error, LimitRequestLine):
        return URI_TOO_LONG
    if isinstance(error, LimitRequestHeaders):
        return HEADERS_TOO_LARGE
    ours = isinstance(error, InvalidResponseHeader | InvalidResponseHeaderName)
    return REQUEST_MALFORMED if isinstance(error, ParseException) and not ours else INTERNAL_ERROR
