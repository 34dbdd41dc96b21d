"""Waits for what another thread or process brings about."""

import time
from collections.abc import Callable


def until(true: Callable[[], bool], seconds: float = 15) -> None:
    """Return when ``true()`` is, fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not become true in time"
        time.sleep(0.02)
