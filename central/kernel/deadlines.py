"""How long a connection may take for what it does now: its head, its body, taking its answer (X13).

A limit on one read is none on a request: a client that sends a byte now and then would keep its thread for
ever. So each thread says what its connection is at, and the worker's loop calls ``reap``.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol


class Connection(Protocol):
    """What holds a socket; TLS replaces the socket while the connection stays."""

    @property
    def sock(self) -> socket.socket: ...


@dataclass(frozen=True, slots=True)
class _Due:
    stage: str
    at: float


class Deadlines:
    """The deadlines of all connections in hand. Safe to share between threads; ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._due: dict[Connection, _Due] = {}

    def begin(self, connection: Connection, stage: str, seconds: float) -> None:
        """The connection is at ``stage`` now and has ``seconds`` for it."""
        with self._lock:
            self._due[connection] = _Due(stage, self._clock() + seconds)

    def end(self, connection: Connection) -> None:
        """Nothing is due any more; the caller may close the connection after this."""
        with self._lock:
            self._due.pop(connection, None)

    def reap(self) -> list[str]:
        """Shut down each connection that is past its deadline; the stages they were at.

        The shut-down socket ends the read or write that its thread waits in. It happens under the lock, so
        that no thread closes the socket, and no other connection gets its number, meanwhile.
        """
        now = self._clock()
        with self._lock:
            late = [(connection, due.stage) for connection, due in self._due.items() if due.at <= now]
            for connection, _ in late:
                del self._due[connection]
                with suppress(OSError):
                    # The plain shutdown: a TLS socket's own would take its state from the reading thread.
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
        return [stage for _, stage in late]
