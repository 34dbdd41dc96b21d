"""An orderly end: SIGTERM and SIGINT are noted at once and interrupt only where waiting is all that
happens.

Python retries a system call a signal broke (PEP 475) unless the handler raises, so the handler raises
exactly while the process is inside `interruptible()`; everywhere else the work in hand is finished first.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_SECONDS = 0.25


class StopRequested(BaseException):
    """The process was asked to end."""


class Stop:
    """The request to end. Installed by a composition root, once."""

    def __init__(self) -> None:
        self.requested = False
        self._interruptible = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            # Raised inside a destructor or a callback it would be printed and lost; so it comes again.
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS, AGAIN_SECONDS)
        if self._interruptible:
            raise StopRequested

    def settle(self) -> None:
        """The work is ended: no signal comes again. The interpreter gives signals their default action before
        it has ended itself, and then one more alarm would kill it (signal(7)).
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)

    def check(self) -> None:
        """Raises StopRequested if the end was asked for: called between two units of work."""
        if self.requested:
            raise StopRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Waiting inside ends with StopRequested the moment the signal comes. Signals reach the main thread
        alone: another thread's waiting is the affair of whoever waits for that thread.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False

    def sleep(self, seconds: float) -> None:
        """Waits at most `seconds`."""
        with self.interruptible():
            time.sleep(seconds)
