"""gunicorn's threaded worker, so that no client keeps what others need (X13; G02, G03).

1. A connection without a byte waits in the poller, never in a thread; ``WAITING_MAX`` wait, the oldest goes.
2. The whole head, the whole body and the taking of the answer each have a deadline (``deadlines``).
3. A closed connection lingers for the client's last bytes (RFC 9112, 9.6) in the poller: gunicorn waits up to
   2 s for them in its one loop, where each client that keeps its end open would stop all others.
4. Stopped, it lets parked polls answer and closes what was opened.

It overrides methods of gunicorn 27's ``gthread`` that are not its public interface; the version is pinned.
"""

import logging
import selectors
import ssl
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from socket import SHUT_WR, socket
from time import monotonic
from types import FrameType
from typing import Any, Final

from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

from central.kernel.deadlines import Deadlines
from central.kernel.http_errors import PROBLEM_TYPE
from central.kernel.http_guard import Environ
from central.kernel.observability import event
from central.kernel.problems import (
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
    REQUEST_MALFORMED,
    URI_TOO_LONG,
    Problem,
    ProblemSpec,
)

_LOG = logging.getLogger("central.serving")
KEPT_MAX: Final = 256
"""Connections kept alive between two requests; one more is closed after its answer."""
WAITING_MAX: Final = 128
"""Connections that have sent nothing yet."""
SPARE_CONNECTIONS: Final = KEPT_MAX + WAITING_MAX + 128
"""Beside those in a thread: kept, waiting, and those that wait for a thread."""
LINGERING_MAX: Final = 64
LINGER_SECONDS: Final = 2.0
DRAIN_BYTES: Final = 65536


class _Connection(TConn):  # type: ignore[misc]
    """A connection whose last bytes are waited for in the poller."""

    worker: "PatientWorker"

    def close(self, graceful: bool = False) -> None:
        if graceful:
            self.worker.linger(self.sock)
        else:
            super().close()


class PatientWorker(ThreadWorker):  # type: ignore[misc]
    """The worker class of every HTTP process."""

    wsgi: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.max_keepalived = KEPT_MAX
        self._deadlines = Deadlines(monotonic)
        self._lingering: deque[tuple[float, socket]] = deque()
        self._here = threading.local()

    def accept(self, listener: socket) -> None:
        """Take a connection into the poller; a thread is for those that have sent something."""
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.nr_conns += 1
        connection = _Connection(self.cfg, client, address, listener.getsockname())
        connection.worker = self
        connection.timeout = monotonic() + self.cfg.keepalive
        self.pending_conns.append(connection)
        self.poller.register(
            client, selectors.EVENT_READ, partial(self.on_pending_socket_readable, connection)
        )
        if len(self.pending_conns) > WAITING_MAX:
            oldest = self.pending_conns.popleft()
            self.poller.unregister(oldest.sock)
            self.nr_conns -= 1
            oldest.close()

    def handle(self, conn: Any) -> Any:
        """Serve one request in a thread of the pool."""
        self._here.connection = conn
        self._deadlines.begin(conn, "head", self.app.receive_seconds)
        try:
            return super().handle(conn)
        finally:
            self._deadlines.end(conn)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        inner = self.wsgi

        def timed(environ: Environ, start_response: Any) -> Iterable[bytes]:
            """Set the deadlines; an answer given while stopping says `Connection: close` (G03)."""
            connection = self._here.connection

            def start(*arguments: Any) -> Any:
                self._deadlines.begin(connection, "answer", self.app.body_seconds)
                if not self.alive:
                    start_response.__self__.force_close()
                return start_response(*arguments)

            if environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ:
                self._deadlines.begin(connection, "body", self.app.body_seconds)
            else:
                self._deadlines.end(connection)
            answered: Iterable[bytes] = inner(environ, start)
            return answered

        self.wsgi = timed

    def murder_pending(self) -> None:
        """What the loop does each turn: end who waits, who is late and who lingers."""
        super().murder_pending()
        for stage in self._deadlines.reap():
            event(_LOG, "client_too_slow", level=logging.WARNING, stage=stage)
        now = monotonic()
        while self._lingering and (self._lingering[0][0] <= now or len(self._lingering) > LINGERING_MAX):
            self._let_go(self._lingering[0][1])

    def linger(self, sock: socket) -> None:
        """Say that nothing more is sent, and read what still comes, so that the answer is not reset."""
        try:
            sock.shutdown(SHUT_WR)
            sock.setblocking(False)
            self.poller.register(sock, selectors.EVENT_READ, self._drain)
        except (OSError, ValueError):
            sock.close()
            return
        self._lingering.append((monotonic() + LINGER_SECONDS, sock))

    def _drain(self, sock: socket) -> None:
        try:
            more = len(sock.recv(DRAIN_BYTES)) in range(1, DRAIN_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            more = False
        if not more:
            self._let_go(sock)

    def _let_go(self, sock: socket) -> None:
        with suppress(StopIteration):
            self._lingering.remove(next(entry for entry in self._lingering if entry[1] is sock))
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(sock)
        sock.close()

    def _cap_keepalive(self, deadline: float) -> None:
        super()._cap_keepalive(deadline)
        for connection in self.pending_conns:
            connection.timeout = min(connection.timeout, deadline)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.alive and self.app.service is not None:
            # A signal handler must not wait for a lock that the interrupted code may hold.
            threading.Thread(target=self.app.service.stopping, name="stopping", daemon=True).start()
        super().handle_exit(sig, frame)

    def run(self) -> None:
        event(_LOG, "serving", port=self.app.cfg.address[0][1], threads=self.cfg.threads)
        try:
            super().run()
        finally:
            self.app.service.close()
            event(_LOG, "stopped")

    def handle_error(self, req: object, client: Any, addr: object, exc: Exception) -> None:  # noqa: ARG002
        """Answer broken HTTP with a problem document."""
        if isinstance(exc, ssl.SSLError):
            return
        spec = _refusal(exc)
        event(_LOG, "request_refused", level=logging.WARNING, code=spec.code, kind=type(exc).__name__)
        body = Problem(spec, spec.meaning).document()
        head = (
            f"HTTP/1.1 {spec.status} {HTTPStatus(spec.status).phrase}\r\nConnection: close\r\n"
            f"Content-Type: {PROBLEM_TYPE}\r\nCache-Control: no-store\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with suppress(OSError):
            util.write_nonblock(client, head.encode("latin-1") + body)


def _refusal(error: Exception) -> ProblemSpec:
    if isinstance(error, LimitRequestLine):
        return URI_TOO_LONG
    if isinstance(error, LimitRequestHeaders):
        return HEADERS_TOO_LARGE
    ours = isinstance(error, InvalidResponseHeader | InvalidResponseHeaderName)
    return REQUEST_MALFORMED if isinstance(error, ParseException) and not ours else INTERNAL_ERROR
