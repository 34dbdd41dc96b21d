"""Waits for what another thread or process brings about. The bounds say "never", not "fast"."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import Any

from central.kernel.errors import Unavailable

NEVER = 60.0


def until(true: Callable[[], bool], seconds: float = NEVER) -> None:
    """Return when ``true()`` is, fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not become true in time"
        time.sleep(0.02)


def eventually(true: Callable[[], bool], seconds: float = NEVER) -> None:
    """As `until`; while it cannot be known (`Unavailable`), it is not yet."""

    def known() -> bool:
        try:
            return true()
        except Unavailable:
            return False

    until(known, seconds)


def done(futures: "Iterable[Future[Any]]", seconds: float = NEVER) -> list[Any]:
    """The results of all, which come without anything else happening."""
    listed = list(futures)
    assert not wait(listed, seconds).not_done, "not all came"
    return [one.result() for one in listed]
