"""One stream of events to text, JSON and the log file; a failing sink never fails the run (row 39, B38).

Progress goes to stderr, the result to stdout; with ``--json`` every event is one line on stdout and the
last is the
result. No escape sequence is ever written. Whatever looks like a secret is redacted on the way out (X5).
"""

import contextlib
import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Protocol, TextIO

from installer.domain.events import Event, Kind
from installer.domain.times import format_time
from installer.host.clock import Clock

SCHEMA = 1
_SECRETS = re.compile(r"phs1_[0-9a-f]{32}_[A-Za-z0-9_-]+|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_PARTS = ("found", "wanted", "remedy")
_QUIET = frozenset({"refusal", "warning", "result"})
_TOLD = frozenset({"warn", "fail", "unknown"})


class Sink(Protocol):
    """Takes events; may raise OSError, which ends this sink's part and nothing else."""

    def write(self, event: Event, at: datetime) -> None:
        """Write one event."""
        ...


class Report:
    """Where the phases say what they do."""

    def __init__(self, clock: Clock, sinks: list[Sink]) -> None:
        self._clock = clock
        self._sinks = sinks

    def add(self, sink: Sink) -> None:
        """One more sink."""
        self._sinks.append(sink)

    def say(self, kind: Kind, text: str, **fields: object) -> None:
        """Tell one event."""
        event = Event(kind=kind, text=redact(text), fields=fields)
        at = self._clock.now()
        for sink in list(self._sinks):
            try:
                sink.write(event, at)
            except (OSError, ValueError):
                self._sinks.remove(sink)


class TextSink:
    """Progress for a human on ``progress``; the result on ``results``.

    Quiet leaves out what went as it should; every check that warned or failed is still told.
    """

    def __init__(self, progress: TextIO, results: TextIO, *, quiet: bool) -> None:
        self._progress = progress
        self._results = results
        self._quiet = quiet

    def write(self, event: Event, at: datetime) -> None:  # noqa: ARG002 - the port's shape
        """One line."""
        if event.kind == "result":
            if "phase" in event.fields:  # a phase's answer; refusals were told above
                _line(self._results, event.text)
        elif event.kind != "plan" and (not self._quiet or _matters(event)):
            prefix = {"warning": "warning: ", "refusal": "refused: "}.get(event.kind, "")
            _line(self._progress, prefix + _told(event))


class JsonSink:
    """One JSON object a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, event: Event, at: datetime) -> None:
        """One line, flushed."""
        _line(self._stream, encode_event(event, at))


class LogSink:
    """The run's log file, opened at the first event; made 0600 by its open flags."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def write(self, event: Event, at: datetime) -> None:
        """One line."""
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
        os.write(self._descriptor, (encode_event(event, at) + "\n").encode("utf-8"))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _told(event: Event) -> str:
    """A refusal, or a check that did not pass, as three lines: found, wanted, remedy; else the text."""
    if event.kind == "refusal" and "found" in event.fields:
        head, parts = str(event.fields["code"]), list(_PARTS)
    elif event.kind == "check" and event.fields.get("status") not in {None, "pass"}:
        subject = f" [{event.fields['subject']}]" if event.fields.get("subject") else ""
        head = f"{event.fields['status']:7} {event.fields['check']}{subject}: {event.fields['found']}"
        parts = list(_PARTS[1:])
    else:
        return event.text
    lines = [f"  {part + ':':7} {event.fields[part]}" for part in parts if event.fields.get(part)]
    return redact("\n".join([head, *lines]))


def _matters(event: Event) -> bool:
    return event.kind in _QUIET or (event.kind == "check" and event.fields.get("status") in _TOLD)


def encode_event(event: Event, at: datetime) -> str:
    """The event as one line of JSON, redacted."""
    body = {"schema": SCHEMA, "at": format_time(at), "event": event.kind, "text": event.text, **event.fields}
    return redact(json.dumps(body, ensure_ascii=True, allow_nan=False, default=str))


def redact(text: str) -> str:
    """``text`` without anything that looks like a token."""
    return _SECRETS.sub("[redacted]", text)


def _line(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()
