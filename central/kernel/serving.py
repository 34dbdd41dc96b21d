"""Runs one HTTP process under gunicorn (X13; F10, G02–G06).

1. ``build`` runs in each worker after the fork: pools and LISTEN connections belong to one process.
2. At the first stop signal ``Service.stopping`` lets parked polls answer, then requests get
   ``graceful_seconds``.
3. Nobody's ``X-Forwarded-*`` or ``Script-Name`` header is believed, headers with an underscore are dropped,
   and HTTP that two readers could read differently is refused (gunicorn's strict defaults are stated, not
   assumed).
4. No control socket, no server log of its own beside our lines, no settings from gunicorn's environment or
   files.
5. A client that sends nothing holds no thread; one that sends slowly gives it back at a deadline of the whole
   head, the whole body, the whole answer (``serving_worker``).
"""

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from central.kernel.http import METRICS
from central.kernel.observability import Metrics
from central.kernel.serving_worker import SPARE_CONNECTIONS, PatientWorker
from central.kernel.worker_metrics import WorkerMetrics


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

    With several ``workers`` each counts for itself, and ``/metrics`` of any tells of all, apart under a label
    ``worker`` (``worker_metrics``). ``receive_seconds`` is for a request's whole head,
    ``body_seconds`` for its whole body (8 MiB at 140 kB/s) and, once more, for taking the answer.
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
    body_seconds: int = 60


def site_api_threads(sites: int, pollers: int) -> int:
    """Threads of the Site API: each parked poll its own, and 16 for everything else (X13)."""
    return sites * pollers + 16


def serve(build: Callable[[], Service], options: ServingOptions) -> int:
    """Serve until stopped and return the exit code; configure logging and check the schema before.

    ``OSError`` or a bad certificate ends with a code other than 0 and a log line.
    """
    os.environ.pop("SCRIPT_NAME", None)  # gunicorn would take a path prefix from it
    folder = Path(mkdtemp(prefix="pharos-metrics-")) if options.workers > 1 else None
    application, parent = _Application(build, options, folder), os.getpid()
    try:
        Arbiter(application).run()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 1
    finally:
        if folder is not None and os.getpid() == parent:  # a worker leaves through here, too
            rmtree(folder, ignore_errors=True)
    return 0


class _Application(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    def __init__(self, build: Callable[[], Service], options: ServingOptions, shared: Path | None) -> None:
        self._build = build
        self._shared = shared
        self._options = options
        self.service: Service | None = None
        self.receive_seconds = options.receive_seconds
        self.body_seconds = options.body_seconds
        super().__init__()

    def load_config(self) -> None:
        for name, value in gunicorn_settings(self._options).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        service = self._build()
        self.service = service if self._shared is None else _shared(service, self._shared, self._options)
        return self.service.app


def _shared(service: Service, folder: Path, options: ServingOptions) -> Service:
    """The service with the metrics of every worker."""
    metrics: Metrics = service.app.extensions[METRICS]
    workers = WorkerMetrics(metrics.registry, folder, options.workers)
    metrics.share(workers)

    def close() -> None:
        service.close()
        workers.close()

    return replace(service, close=close)


def gunicorn_settings(options: ServingOptions) -> dict[str, Any]:
    """Return every gunicorn setting we rely on; the rest keeps gunicorn's default."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return {
        "bind": f"{host}:{options.port}",
        "workers": options.workers,
        "worker_class": PatientWorker,
        "threads": options.threads,
        "worker_connections": options.threads + SPARE_CONNECTIONS,
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

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers[:] = []
        self.error_log.propagate = True
