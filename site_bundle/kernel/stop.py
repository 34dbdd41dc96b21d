"""An orderly end: SIGTERM and SIGINT are noted at once and interrupt only where waiting is all that
happens. And a wake-up: SIGURG ends a wait early, and nothing else.

Python retries a system call a signal broke (PEP 475) unless the handler raises, so the handler raises
exactly while the process is inside `interruptible()`; everywhere else the work in hand is finished first.
SIGURG is one a process that does not know it ignores (signal(7)), so it may be sent to any release's.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

AGAIN_SECONDS = 0.25
WAKE = signal.SIGURG


class StopRequested(BaseException):
    """The process was asked to end."""


class Woken(BaseException):
    """The wait is over: something is to be done."""


class Stop:
    """The request to end, and to wake. Installed by a composition root, once."""

    def __init__(self) -> None:
        self.requested = False
        self._woken = False
        self._interruptible = False
        self._wakeable = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, self._handle)
        signal.signal(WAKE, self._wake)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            # Raised inside a destructor or a callback it would be printed and lost; so it comes again.
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS, AGAIN_SECONDS)
        if self._interruptible:
            raise StopRequested

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        self._woken = True
        if self._interruptible:
            self._check_wake()

    def _check_wake(self) -> None:
        if self._woken and self._wakeable:
            self._woken = self._wakeable = False
            raise Woken

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
            self._check_wake()
            yield
        finally:
            self._interruptible = False

    @contextmanager
    def wakeable(self) -> Iterator[None]:
        """Waiting inside (`interruptible`) ends with Woken when SIGURG comes, or came since the last such
        wait. What is between two waits is not broken off.
        """
        self._wakeable = True
        try:
            yield
        finally:
            self._wakeable = False

    def sleep(self, seconds: float) -> None:
        """Waits at most `seconds`, or until it is woken."""
        with suppress(Woken), self.wakeable(), self.interruptible():
            time.sleep(seconds)
