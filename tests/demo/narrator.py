"""Tells the steps of the demo with their times; plain where colour would be noise.

https://no-color.org: a set NO_COLOR means none. Neither where the output is no terminal.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

BOLD, DIM, GREEN, RED, RESET = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[0m"


class Narrator:
    """Writes to one stream; counts steps and seconds from its making."""

    def __init__(self, stream: TextIO, *, colour: bool | None = None) -> None:
        self._stream = stream
        self._colour = wants_colour(stream) if colour is None else colour
        self._begun = time.monotonic()
        self._number = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Announce, run, and say how long it took or that it failed."""
        self._number += 1
        self._line(f"{self._paint(BOLD, f'{self._number:2d}. {title}')}")
        start = time.monotonic()
        try:
            yield
        except BaseException as error:
            word = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            self._line(f"    {self._paint(RED, word)} after {time.monotonic() - start:.1f} s")
            raise
        self._line(f"    {self._paint(GREEN, 'done')} in {time.monotonic() - start:.1f} s")

    def typed(self, command: str) -> None:
        """A command as its user types it."""
        self._line(f"    {self._paint(DIM, '$')} {command}")

    def fact(self, text: str) -> None:
        """What was observed; every line of it."""
        for line in text.splitlines():
            self._line(f"    {line}")

    def close(self, text: str) -> None:
        """Last words, with the whole time."""
        self._line("")
        self._line(f"{text} ({time.monotonic() - self._begun:.0f} s in all)")

    def _paint(self, code: str, text: str) -> str:
        return f"{code}{text}{RESET}" if self._colour else text

    def _line(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def wants_colour(stream: TextIO) -> bool:
    """Whether colour helps whoever reads ``stream``."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
