"""One structured line an event, ids that follow a request, and metrics with bounded labels (X9).

A line is one JSON object: ``time``, ``level``, ``process``, ``event``, what is ``bound`` (``requestId``,
``commandId``) and the event's own fields. A field whose name speaks of a secret is redacted (X5). Under
systemd (``JOURNAL_STREAM``) each line starts with its syslog priority, which the journal takes off again.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from central.kernel.times import format_rfc3339
from central.kernel.worker_metrics import WorkerMetrics

_SECRET = re.compile(r"token|secret|password|authori[sz]ation|cookie|private", re.IGNORECASE)
_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_EXCEPTION_LENGTH = 8192
_BOUND: ContextVar[Mapping[str, str]] = ContextVar("pharos_bound", default={})  # noqa: B039 - never changed in place
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class _Lines(logging.Formatter):
    def __init__(self, process: str, *, priority: bool) -> None:
        super().__init__()
        self._process = process
        self._priority = priority

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        given = getattr(record, "pharos_fields", None)
        line: dict[str, object] = {
            "time": format_rfc3339(datetime.fromtimestamp(record.created, UTC)),
            "level": level,
            "process": self._process,
            "event": record.getMessage() if given is not None else "log",
            **_BOUND.get(),
        }
        if given is None:
            line |= {"logger": record.name, "message": record.getMessage()}
        else:
            line |= {name: _shown(name, value) for name, value in given.items()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)[-_EXCEPTION_LENGTH:]
        text = msgspec.json.encode(line, enc_hook=str).decode("utf-8")
        return f"<{_PRIORITY.get(level, 6)}>{text}" if self._priority else text


def _shown(name: str, value: object) -> object:
    return "[redacted]" if _SECRET.search(name) else value


def configure_logging(process: str, *, level: str = "info", stream: TextIO | None = None) -> None:
    """Send every log record of this process as one JSON line to ``stream`` (default: standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Lines(process, priority=stream is None and "JOURNAL_STREAM" in os.environ))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


def event(
    logger: logging.Logger,
    name: str,
    *,
    level: int = logging.INFO,
    error: BaseException | None = None,
    **fields: object,
) -> None:
    """Log the event ``name`` (lower snake case) with ``fields`` (JSON values) and, where given, a
    traceback.
    """
    logger.log(level, "%s", name, extra={"pharos_fields": fields}, exc_info=error)


@contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Add ``fields`` (``commandId=…``) to every event logged in this block."""
    token = _BOUND.set({**_BOUND.get(), **fields})
    try:
        yield
    finally:
        _BOUND.reset(token)


def bound_fields() -> Mapping[str, str]:
    """Return what is bound now."""
    return _BOUND.get()


class Metrics:
    """A process's metrics. ``registry`` takes a context's own; labels are bounded and name no person."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.registry = CollectorRegistry()
        self._shared: WorkerMetrics | None = None
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "pharos_http_requests_total",
            "Requests answered.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "pharos_http_request_seconds",
            "Time to answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_progress = Gauge(
            "pharos_http_in_progress", "Requests being answered.", registry=self.registry
        )
        self.problems = Counter(
            "pharos_problems_total", "Refusals by code.", ["code"], registry=self.registry
        )

    def expose(self) -> bytes:
        """Everything in the text format: of this worker, or of all once it is shared."""
        return self._shared.expose() if self._shared else generate_latest(self.registry)

    def share(self, shared: WorkerMetrics | None) -> None:
        """From now on, tell what every worker counts."""
        self._shared = shared

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read when it is scraped."""
        Gauge(name, meaning, registry=self.registry).set_function(read)
