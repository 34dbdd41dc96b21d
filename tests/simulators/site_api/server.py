"""The stand-in over TLS: it enforces the wire and misbehaves on request."""

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

from tests.simulators.site_api import commands
from tests.simulators.site_api.checks import Problem, changes_query, check_schema_header, results_body
from tests.simulators.site_api.history import History

TOKEN = "phs1_" + "0" * 32 + "_" + "A" * 43
PREFIX = "/v1/site/ssh-access/"
COMMANDS = "/v1/site/commands"
METHODS = {"grant": "GET", "changes": "GET", "results": "POST"}


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


class SiteApiServer(ThreadingHTTPServer):
    """One Site's history behind one or more tokens; `tokens` maps a token to its scopes."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], history: History, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, Handler)
        self.history = history
        self.faults = Faults()
        self.tokens: dict[str, list[str]] = {TOKEN: ["ssh-access"]}
        self.desk = commands.CommandDesk(site=history.site)
        self.expires_at: str | None = None
        self.requests: list[tuple[str, str]] = []
        self.parked = 0
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.connections: set[socket.socket] = set()
        self._tls = tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection = self._tls.wrap_socket(request, server_side=True) if self._tls else request
        self.connections.add(connection)
        try:
            Handler(connection, client_address, self)
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


class Handler(BaseHTTPRequestHandler):
    """The three calls."""

    server: SiteApiServer
    protocol_version = "HTTP/1.1"
    timeout = 70
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def _serve(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # http.server folds leading slashes in `path`; the request line is as it was sent.
        path, _, query = self.requestline.split(" ")[1].partition("?")
        call = path.removeprefix(PREFIX) if path.startswith(PREFIX) else ""
        if path.startswith(COMMANDS):
            call = path.removeprefix(COMMANDS).rpartition("/")[2] or "commands"
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

    def _answer(self, method: str, call: str, path: str, query: str, raw: bytes) -> dict[str, Any] | None:
        if "%00" in path:
            raise Problem(400, "request_malformed")
        if path.startswith(COMMANDS):
            return self._command(method, path, query, raw)
        if call not in METHODS:
            raise Problem(404, "not_found")
        if method != METHODS[call]:
            raise Problem(405, "method_not_allowed")
        if self.headers.get("Content-Encoding") is not None:
            raise Problem(415, "content_encoding_refused")
        scopes = self._scopes()
        if "ssh-access" not in scopes and call != "grant":
            raise Problem(403, "forbidden")
        check_schema_header(self.headers.get("Pharos-Schema"))
        history = self.server.history
        if call == "changes":
            asked = changes_query(query)
            self.server.parked += 1
            try:
                return history.page(asked["after"], asked["limit"], asked["wait"])
            except LookupError as error:
                raise Problem(409, "feed_position_unknown") from error
            finally:
                self.server.parked -= 1
        if query:
            raise Problem(400, "query_invalid")
        if call == "results":
            return self._results(raw)
        return {
            "schema": 1,
            "site": history.site,
            "scopes": sorted(scopes),
            "grantId": "00000000-0000-4000-8000-000000000001",
            "expiresAt": self.server.expires_at,
        }

    def _command(self, method: str, path: str, query: str, raw: bytes) -> dict[str, Any] | None:
        if self.headers.get("Content-Encoding") is not None:
            raise Problem(415, "content_encoding_refused")
        if "commands" not in self._scopes():
            raise Problem(403, "forbidden")
        check_schema_header(self.headers.get("Pharos-Schema"))
        if method != "GET" and self.headers.get("Content-Type") != "application/json":
            raise Problem(415, "media_type_refused")
        self.server.parked += 1
        try:
            return commands.answer(self.server.desk, method, path, query, raw, self.server.now())
        finally:
            self.server.parked -= 1

    def _results(self, raw: bytes) -> dict[str, Any]:
        if (self.headers.get("Content-Type") or "").split(";")[0].strip() != "application/json":
            raise Problem(415, "media_type_refused")
        body, observed_at = results_body(raw, self.server.now())
        receipts = self.server.history.record(body, raw, observed_at)
        if receipts is None:
            raise Problem(409, "command_reused")
        return {"schema": 1, "receipts": receipts}

    def _scopes(self) -> list[str]:
        kind, _, token = (self.headers.get("Authorization") or "").partition(" ")
        if kind != "Bearer" or token not in self.server.tokens:
            raise Problem(401, "unauthenticated")
        return self.server.tokens[token]

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


@dataclass
class SiteApi:
    """A served stand-in; `restart` keeps port and history and cuts every connection."""

    history: History
    certificate: Path
    key: Path
    ca_file: Path
    port: int = 0
    host: str = "127.0.0.1"
    server: SiteApiServer = field(init=False)

    def start(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        before = getattr(self, "server", None)
        self.server = SiteApiServer((self.host, self.port), self.history, tls)
        if before is not None:
            self.server.tokens, self.server.faults = before.tokens, before.faults
            self.server.requests, self.server.desk = before.requests, before.desk
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
