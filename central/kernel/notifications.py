"""Wakes long polls: one LISTEN connection a worker feeds all waiters, which hold no connection (X13).

Use::

    with waiters.watch(CHANNEL, site) as watch:
        while True:
            rows = read()
            if rows or not watch.wait(deadline):
                return rows

A writer runs ``SELECT pg_notify('channel', site)`` in its transaction.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic


class Watch:
    """One parked poll."""

    def wait(self, deadline: float) -> bool:
        """True: woken, read again. False: ``deadline`` (``time.monotonic``) passed or the process is stopping."""
        raise NotImplementedError


class Waiters:
    """All parked polls of one worker and its one LISTEN connection (direct URL, O4)."""

    def __init__(
        self, direct_url: str, channels: Sequence[str], *, clock: Callable[[], float] = monotonic
    ) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Start listening; reconnects with back-off, and wakes everybody after each reconnect."""
        raise NotImplementedError

    @contextmanager
    def watch(self, channel: str, key: str) -> Iterator[Watch]:
        """Register before reading, so that no change is missed between reading and waiting."""
        yield NotImplemented

    def close(self) -> None:
        """Answer every parked poll at once and stop (G03)."""
        raise NotImplementedError
