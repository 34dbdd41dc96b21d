"""SIGINT, SIGTERM and SIGHUP: the work under way is left by an exception once; the way back cannot be
interrupted (row 8).
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}


class InterruptedRunError(Exception):
    """A signal asked the run to end; whoever changed the host restores it first."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """130 for SIGINT, else 143."""
        return EXIT_CODES[signal.Signals(self.signum)]


class Signals:
    """Whether and which signal came; ``shielded`` blocks let none through."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._shields = 0

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Install the handlers for the block."""
        before = {number: signal.signal(number, self._handle) for number in EXIT_CODES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """A block that finishes whatever signals come; they are only remembered."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1

    def raise_received(self) -> None:
        """Leave now if a signal came while shielded."""
        if self.received is not None:
            raise InterruptedRunError(self.received)

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        first = self.received is None
        self.received = self.received or signum
        if first and self._shields == 0:
            raise InterruptedRunError(signum)
