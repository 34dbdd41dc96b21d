"""One structured line an event (X9): `<priority>event name=value …` on stderr, which journald splits by its
prefix.

The prefix is sd-daemon(3)'s. Values with blanks, quotes or control characters are JSON strings in ASCII, so
no value can start a line or an escape sequence of its own (C18).
"""

from __future__ import annotations

import json
import re
import sys
from typing import TextIO

_PLAIN = re.compile(r"[A-Za-z0-9_.:/@+,-]{1,200}")
_PRIORITIES = {"error": 3, "warning": 4, "notice": 5, "info": 6, "debug": 7}


class Log:
    """Writes events. `bind` returns one that adds the same fields to each line (a cycle id, say)."""

    def __init__(self, stream: TextIO | None = None, fields: dict[str, object] | None = None) -> None:
        self._stream = stream
        self._fields = fields or {}

    def bind(self, **fields: object) -> Log:
        return Log(self._stream, {**self._fields, **fields})

    def info(self, event: str, **fields: object) -> None:
        self._write("info", event, fields)

    def notice(self, event: str, **fields: object) -> None:
        self._write("notice", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write("error", event, fields)

    def _write(self, priority: str, event: str, fields: dict[str, object]) -> None:
        words = [event, *(f"{k}={_shown(v)}" for k, v in {**self._fields, **fields}.items() if v is not None)]
        stream = self._stream or sys.stderr
        stream.write(f"<{_PRIORITIES[priority]}>{' '.join(words)}\n")
        stream.flush()


def _shown(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text[:2000])
