"""The simulated Waldur over HTTPS: reads a request, meets its faults, asks the rules, sends the answer."""

from __future__ import annotations

import json
import socket
import ssl
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.simulators.waldur import routes
from tests.simulators.waldur.answers import Answer
from tests.simulators.waldur.faults import INSTEAD, Fault, falsified
from tests.simulators.waldur.steering import Steering

BODY_MAX = 8 << 20
PAGE = "<!doctype html><html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>"


class WaldurServer(ThreadingHTTPServer):
    """Serves one `Steering`; `host` is the name that absolute URLs carry where a request names none."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], steering: Steering, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, Handler)
        self.steering = steering
        self.tls = tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        """TLS is spoken in the connection's own thread, so that a slow caller holds up nobody."""
        connection = self.tls.wrap_socket(request, server_side=True) if self.tls else request
        try:
            Handler(connection, client_address, self)
        finally:
            with suppress(OSError):
                connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away, or does not trust the certificate, is the test's business."""


class Handler(BaseHTTPRequestHandler):
    """Any method, any path."""

    server: WaldurServer
    protocol_version = "HTTP/1.1"
    server_version = "nginx"
    sys_version = ""
    timeout = 90
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def _serve(self) -> None:
        raw = self._body()
        if raw is None:
            return
        steering = self.server.steering
        target = self.requestline.split(" ")[1]
        with steering.lock:
            met = steering.plan.meet(f"{self.command} {target}")
        faults = {fault.kind: fault for fault in met}
        if "delay" in faults:
            time.sleep(faults["delay"].seconds)
        instead = next((fault for kind, fault in faults.items() if kind in INSTEAD), None)
        if instead is not None:
            self._log(target, raw, 0)
            self._misbehave(instead)
            return
        with steering.lock:
            begin = time.perf_counter()
            answer = routes.answer(steering.world, self._request(target, raw, faults), steering.now())
            self._log(target, raw, answer.status)
            for act in faults["then"].acts if "then" in faults else ():
                steering.act(dict(act))
            steering.busy += time.perf_counter() - begin
        if "lose" in faults:
            self._hang_up()
            return
        self._send(falsified(answer, met), faults)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if (
            not (length.isascii() and length.isdigit())
            or int(length) > BODY_MAX
            or "Transfer-Encoding" in self.headers
        ):
            self.close_connection = True
            self._put(413, b"", "text/html")
            return None
        return self.rfile.read(int(length))

    def _request(self, target: str, raw: bytes, faults: dict[str, Fault]) -> routes.Request:
        scheme = "https" if self.server.tls else "http"
        address = ":".join(str(part) for part in self.server.server_address[:2])
        base = f"{scheme}://{self.headers.get('Host') or address}"
        return routes.Request(
            method=self.command,
            target=target,
            authorization=self.headers.get("Authorization"),
            media_type=self.headers.get("Content-Type", ""),
            raw=raw,
            base=faults["host"].value or base if "host" in faults else base,
        )

    def _log(self, target: str, raw: bytes, status: int) -> None:
        """Keeps what was asked, never by what credential; status 0: a fault kept it from the rules."""
        path, _, query = target.partition("?")
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode("utf-8", "replace")
        entry = {"method": self.command, "path": path, "query": query, "status": status, "body": body}
        with self.server.steering.lock:
            self.server.steering.log.append(entry)

    def _misbehave(self, fault: Fault) -> None:
        kind = fault.kind
        if kind == "drop":
            self._hang_up()
        elif kind == "status":
            page = b"" if fault.empty else PAGE.format(f"{fault.status} Bad Gateway").encode()
            self._put(fault.status, page, "text/html")
        elif kind == "throttle":
            seconds = f"{fault.seconds:g}"
            detail = f"Request was throttled. Expected available in {seconds} seconds."
            self._put(429, json.dumps({"detail": detail}).encode(), headers={"Retry-After": seconds})
        elif kind == "page":
            self._put(200, PAGE.format("Sign in").encode(), "text/html")
        elif kind == "huge":
            self._put(200, b'[{"filler":"' + b"x" * fault.size + b'"}]')
        elif kind == "redirect":
            self._put(302, b"", "text/html", {"Location": fault.value or "https://elsewhere.example/"})
        elif kind == "encoded":
            self._put(200, b"\x1f\x8b\x08\x00", headers={"Content-Encoding": "gzip"})
        elif kind == "drip":
            self._drip(fault.seconds)

    def _drip(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        end = time.monotonic() + seconds
        with suppress(OSError):
            while time.monotonic() < end:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.02)
        self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, answer: Answer, faults: dict[str, Fault]) -> None:
        headers = {"Allow": "GET, POST, HEAD, OPTIONS", "Vary": "Accept, Cookie"} | answer.headers
        if answer.empty:
            self._put(answer.status, b"", headers=headers)
            return
        kind = "text/html" if answer.html else "application/json"
        body = (
            answer.body.encode() if answer.html else json.dumps(answer.body, separators=(",", ":")).encode()
        )
        cut = body[: len(body) // 2]
        if "truncate" in faults:
            self._put(answer.status, cut, kind, headers, told=len(body))
            self._hang_up()
        else:
            self._put(answer.status, cut if "garble" in faults else body, kind, headers)

    def _put(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
        *,
        told: int | None = None,
    ) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if status not in (204, 304):
                self.send_header("Content-Length", str(len(body) if told is None else told))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept in the log of the steering."""


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
