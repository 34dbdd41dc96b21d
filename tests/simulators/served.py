"""A central that is served over TLS and misbehaves on request: what both stand-ins of central are made of."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.simulators.site_api.checks import Problem


@dataclass
class Faults:
    """What goes wrong next: each entry is used up by one request whose path ends with `call`.

    Kinds: `drop` (no answer, nothing done), `lose` (done, the answer is lost), `delay:S`, `status:N`,
    `retry:N` (503 with Retry-After), `redirect`, `oversized`, `drip`, `html`, `encoded`, `body:TEXT`.
    """

    planned: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, call: str, *kinds: str) -> None:
        with self.lock:
            self.planned += [(call, kind) for kind in kinds]

    def take(self, call: str) -> str | None:
        with self.lock:
            for position, (wanted, kind) in enumerate(self.planned):
                if wanted == call:
                    del self.planned[position]
                    return kind
        return None


class FaultyServer(ThreadingHTTPServer):
    """Counts its requests and can cut every connection; `now` is its clock."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(address, handler)
        self.faults = Faults()
        self.requests: list[tuple[str, str]] = []
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.connections: set[socket.socket] = set()
        self._tls = tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection = self._tls.wrap_socket(request, server_side=True) if self._tls else request
        self.connections.add(connection)
        try:
            super().finish_request(connection, client_address)
        finally:
            self.connections.discard(connection)
            with suppress(OSError):
                connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is the test's business, not the log's."""

    def cut(self) -> None:
        """Ends every connection at once, as a restart does."""
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class FaultyHandler(BaseHTTPRequestHandler):
    """One request after the other: the planned fault, or the answer."""

    server: FaultyServer
    protocol_version = "HTTP/1.1"
    timeout = 70
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def _call(self, path: str) -> str:
        """The call a path names, as faults are planned for it; empty for none."""
        raise NotImplementedError

    def _answer(self, method: str, call: str, path: str, query: str, raw: bytes) -> dict[str, Any] | None:
        """The document, None for 204. Raises `Problem`."""
        raise NotImplementedError

    def _serve(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # http.server folds leading slashes in `path`; the request line is as it was sent.
        path, _, query = self.requestline.split(" ")[1].partition("?")
        call = self._call(path)
        self.server.requests.append((method, self.path))
        fault = self.server.faults.take(call)
        if fault is not None and fault != "lose" and self._misbehave(fault):
            return
        try:
            document = self._answer(method, call, path, query, raw)
            status = 200 if document is not None else 204
        except Problem as problem:
            status = problem.status
            document = {"type": f"urn:pharos:problem:{problem.code}", "status": status, "code": problem.code}
        if fault == "lose":
            self._hang_up()
        else:
            self._send(status, json.dumps(document, separators=(",", ":")).encode() if document else b"")

    def _misbehave(self, fault: str) -> bool:
        """True when the fault itself was the answer."""
        kind, _, value = fault.partition(":")
        if kind == "delay":
            time.sleep(float(value))
            return False
        if kind == "drop":
            self._hang_up()
        elif kind == "status":
            self._send(int(value), b'{"code":"unavailable"}')
        elif kind == "retry":
            self._send(503, b'{"code":"unavailable"}', {"Retry-After": value})
        elif kind == "redirect":
            self._send(307, b"", {"Location": value or "https://elsewhere.example/"})
        elif kind == "oversized":
            self._send(200, b'{"schema":1,"filler":"' + b"x" * (4 << 20) + b'"}')
        elif kind == "html":
            self._send(200, b"<html>a proxy's page</html>", {"Content-Type": "text/html"})
        elif kind == "encoded":
            self._send(200, b"\x1f\x8b", {"Content-Encoding": "gzip"})
        elif kind == "body":
            self._send(200, value.encode())
        elif kind == "drip":
            self._drip(float(value))
        return True

    def _drip(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        end = time.monotonic() + seconds
        with suppress(OSError):
            while time.monotonic() < end:
                self.wfile.write(b" ")
                time.sleep(0.02)
        self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        kind = "application/json" if status < 300 else "application/problem+json"
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Cache-Control": "no-store", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept in `server.requests`."""


class Served:
    """A stand-in that comes and goes: what it keeps, and its port, outlive its server."""

    host: str
    port: int
    certificate: Path
    key: Path
    server: Any

    def make(self, address: tuple[str, int], tls: ssl.SSLContext) -> FaultyServer:
        """A server at the address, with what the one before kept."""
        raise NotImplementedError

    def start(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        self.server = self.make((self.host, self.port), tls)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.server.cut()

    @contextmanager
    def away(self) -> Iterator[None]:
        """central is down inside the block."""
        self.stop()
        yield
        self.start()

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"
