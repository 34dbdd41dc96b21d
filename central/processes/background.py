"""The threads of a worker process: begun together, told to end together, waited for together."""

import threading
import time
from collections.abc import Callable

STOP_SECONDS = 30.0
"""A thread that is not done by then is left behind: leases and the broker do the rest (O3)."""


class Background:
    """Each thread runs one function with the event that ends it, and returns soon after it is set."""

    def __init__(self) -> None:
        self.ending = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, name: str, run: Callable[[threading.Event], object]) -> None:
        """One more thread, before `start`."""
        self._threads.append(threading.Thread(target=run, args=(self.ending,), name=name, daemon=True))

    def start(self) -> None:
        """Begins all of them."""
        for thread in self._threads:
            thread.start()

    def signal(self) -> None:
        """Asks all to end; returns at once."""
        self.ending.set()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ends them after the messages and the pass at hand, or when the time is over."""
        self.ending.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=max(0.0, deadline - time.monotonic()))
