"""Wakes long polls: one LISTEN connection a worker feeds all waiters, which hold no connection (X13).

Use::

    with waiters.watch(CHANNEL, site) as watch:
        while True:
            rows = read()
            if rows or not watch.wait(deadline):
                return rows

Register first, then read, then wait: a change between reading and waiting sets the watch. After False, answer
what was read at the deadline. A writer runs ``SELECT pg_notify('channel', site)`` in its transaction.
"""

import logging
import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

import psycopg
from psycopg import sql

from central.kernel.observability import event

_LOG = logging.getLogger("central.notifications")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_TURN_SECONDS = 0.5


class Watch:
    """One parked poll."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._woken = threading.Event()
        self._closing = False

    def wait(self, deadline: float) -> bool:
        """True: read again. False: ``deadline`` (of the waiters' clock) passed or the process is stopping.

        At the deadline one True is returned first, so that the caller always reads once more (X13).
        """
        if self._closing:
            return False
        left = deadline - self._clock()
        if left <= 0:
            return False
        self._woken.wait(left)
        self._woken.clear()
        return True

    def wake(self) -> None:
        """Make ``wait`` return True."""
        self._woken.set()

    def end(self) -> None:
        """Make this and every later ``wait`` end; a parked one reads once more."""
        self._closing = True
        self._woken.set()


class Waiters:
    """All parked polls of one worker and its one LISTEN connection, to the direct URL (O4)."""

    def __init__(
        self, direct_url: str, channels: Sequence[str], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.clock = clock
        self._url = direct_url
        self._channels = tuple(channels)
        self._lock = threading.Lock()
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self._closing = threading.Event()
        self._listening = threading.Event()
        self._ending: tuple[int, int] | None = None  # a pipe: what is written ends the turn that waits
        self._thread = threading.Thread(target=self._listen_for_ever, name="listen", daemon=True)

    def start(self) -> None:
        """Start listening; a lost connection is made again with back-off, then everybody is woken."""
        self._ending = os.pipe()
        self._thread.start()

    @property
    def listening(self) -> bool:
        """Whether changes arrive now; while not, polls still end at their deadline."""
        return self._listening.is_set()

    @property
    def parked(self) -> int:
        """How many watches are registered."""
        with self._lock:
            return sum(len(watches) for watches in self._watches.values())

    @contextmanager
    def watch(self, channel: str, key: str, *, at_most: int | None = None) -> Iterator[Watch]:
        """Register a poll for ``key`` (the notification's payload) of ``channel``.

        Beside ``at_most`` others of the same key it is not parked: its ``wait`` ends at once (X13).
        """
        if channel not in self._channels:
            raise ValueError(f"channel {channel} is not listened to; known: {', '.join(self._channels)}")
        watch = Watch(self.clock)
        with self._lock:
            parked = self._watches.get((channel, key), ())
            if self._closing.is_set() or (at_most is not None and len(parked) >= at_most):
                watch.end()
            else:
                self._watches.setdefault((channel, key), set()).add(watch)
        try:
            yield watch
        finally:
            with self._lock:
                watches = self._watches.get((channel, key), set())
                watches.discard(watch)
                if not watches:
                    self._watches.pop((channel, key), None)

    def stop(self) -> None:
        """Answer every parked poll at once; later ones do not wait (G03). Safe from any thread."""
        self._closing.set()
        with self._lock:
            for watches in self._watches.values():
                for watch in watches:
                    watch.end()
            if self._ending is not None:
                os.write(self._ending[1], b"\0")

    def close(self) -> None:
        """Stop, and end the LISTEN connection."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(_TURN_SECONDS * 4)
        with self._lock:
            if self._ending is not None and not self._thread.is_alive():
                for end in self._ending:
                    os.close(end)
                self._ending = None

    def _wake(self, channel: str, key: str) -> None:
        with self._lock:
            for watch in self._watches.get((channel, key), ()):
                watch.wake()

    def _wake_all(self) -> None:
        with self._lock:
            for watches in self._watches.values():
                for watch in watches:
                    watch.wake()

    def _listen_for_ever(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closing.is_set():
            try:
                with psycopg.connect(
                    self._url, autocommit=True, connect_timeout=5, application_name="pharos-listen",
                    keepalives_idle=10, keepalives_interval=5, keepalives_count=3,
                ) as connection:  # fmt: skip
                    for channel in self._channels:
                        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    pause = _FIRST_PAUSE
                    self._wake_all()
                    self._listening.set()
                    self._listen(connection)
            except psycopg.Error as error:
                event(_LOG, "listen_lost", level=logging.WARNING, sqlstate=error.sqlstate, pauseSeconds=pause)
            finally:
                self._listening.clear()
            self._closing.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _listen(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        turn = select.poll()
        turn.register(connection.fileno(), select.POLLIN)
        if self._ending is not None:
            turn.register(self._ending[0], select.POLLIN)
        while not self._closing.is_set():
            turn.poll(_TURN_SECONDS * 1000)
            for notification in connection.notifies(timeout=0):
                self._wake(notification.channel, notification.payload)
