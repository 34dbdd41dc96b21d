"""The Git server over HTTP: authentication, Git's smart protocol, LFS, and faults on demand."""

import base64
import binascii
import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote

from tests.simulators.git import lfs
from tests.simulators.git.backend import CHUNK, CgiRequest, run_backend
from tests.simulators.git.server_state import Asked, Credential, Faults, Repositories

BODY_MAX: Final = 256 * 1024 * 1024
_PATH: Final = re.compile(
    r"/(?P<repository>[A-Za-z0-9._/-]+\.git)/"
    r"(?P<rest>info/refs|git-upload-pack|git-receive-pack|info/lfs/objects/batch|lfs/[0-9a-f]{64})"
)
_SERVICES: Final = frozenset({"service=git-upload-pack", "service=git-receive-pack"})


class GitServer(ThreadingHTTPServer):
    """Serves `repositories`; `url` is how its clients name it, set once the socket is known."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], repositories: Repositories) -> None:
        super().__init__(address, _Handler)
        self.repositories = repositories
        self.url = ""

    def shutdown_request(self, request: Any) -> None:
        """Ends TLS in order, so that the client can tell an ended answer from a cut one (RFC 8446 §6.1)."""
        with suppress(OSError, ValueError):  # the client is gone already
            request.unwrap()
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; everything else is the server's own fault and is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: GitServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *args: object) -> None:
        """What was asked is kept by `Repositories.remember`, without credentials."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        self._username: str | None = None
        fault = self.server.repositories.fault()
        if fault.seconds:
            time.sleep(fault.seconds)
        if fault.redirect is not None:
            self._answer(302, b"", [("Location", fault.redirect + self.path)])
        elif fault.status is not None:
            self._answer(fault.status, b"out of order\n")
        else:
            self._admit(unquote(path), query, fault)

    def _admit(self, path: str, query: str, fault: Faults) -> None:
        credential = self._credential()
        if credential is None:
            self._answer(401, b"HTTP Basic: Access denied\n", [("WWW-Authenticate", 'Basic realm="git"')])
            return
        matched = _PATH.fullmatch(path)
        if matched is None or matched["repository"] != credential.repository:
            self._answer(404, b"Repository not found\n")
            return
        rest = matched["rest"]
        if rest.startswith(("info/lfs", "lfs/")):
            self._large(credential, rest)
        elif self._allowed(rest, query):
            self._smart(credential, path, query, fault)
        else:
            self._answer(403, b"dumb transfers are not served\n")

    def _allowed(self, rest: str, query: str) -> bool:
        if rest == "info/refs":
            return self.command == "GET" and query in _SERVICES
        return self.command == "POST"

    def _smart(self, credential: Credential, path: str, query: str, fault: Faults) -> None:
        answer = run_backend(
            self.server.repositories.folder,
            CgiRequest(
                method=self.command,
                path=path,
                query=query,
                content_type=self.headers.get("Content-Type", ""),
                content_encoding=self.headers.get("Content-Encoding", ""),
                protocol=self.headers.get("Git-Protocol", ""),
                username=credential.username,
                writes=credential.writes,
                body=self._body(),
            ),
        )
        self._head(answer.status, [*answer.headers, ("Transfer-Encoding", "chunked")])
        left = fault.cut_after
        for piece in answer.body:
            if left is not None and len(piece) >= left:
                self.wfile.write(b"%x\r\n" % len(piece) + piece[:left])
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
            left = left if left is None else left - len(piece)
        self.wfile.write(b"0\r\n\r\n")

    def _large(self, credential: Credential, rest: str) -> None:
        repository = self.server.repositories.path(credential.repository)
        href = f"{self.server.url}/{credential.repository}/lfs"
        oid = rest.removeprefix("lfs/")
        try:
            if rest == "info/lfs/objects/batch":
                told = lfs.batch(
                    repository,
                    b"".join(self._body()),
                    href,
                    self.headers["Authorization"],
                    bool(credential.writes),
                )
                self._answer(200, json.dumps(told).encode(), [("Content-Type", lfs.MEDIA)])
            elif self.command == "GET":
                there = lfs.stored(repository, oid)
                self._answer(404, b"no such object\n") if there is None else self._answer(
                    200, there.read_bytes(), [("Content-Type", "application/octet-stream")]
                )
            elif credential.writes:
                lfs.store(repository, oid, self._body())
                self._answer(200, b"")
            else:
                self._answer(403, b"this credential may not write\n")
        except lfs.LfsRefused as refused:
            body = json.dumps({"message": str(refused)}).encode()
            self._answer(refused.status, body, [("Content-Type", lfs.MEDIA)])

    def _credential(self) -> Credential | None:
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        self._username = name or None
        if scheme.lower() != "basic":
            return None
        return self.server.repositories.admitted(name, password, time.time())

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            yield from self._chunks()
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0:
            piece = self.rfile.read(min(CHUNK, left))
            if not piece:
                raise ConnectionError("the client's body ended early")
            left -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        while True:
            size = int(self.rfile.readline(32).split(b";")[0], 16)
            total += size
            if total > BODY_MAX:
                raise ConnectionError("body too large")
            if size == 0:
                while self.rfile.readline(1024).strip():
                    pass
                return
            yield self.rfile.read(size)
            self.rfile.readline(8)

    def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        asked = Asked(self.command, self.path, status, self._username)
        self.server.repositories.remember(asked)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, status: int, body: bytes, headers: list[tuple[str, str]] | None = None) -> None:
        unread = self.command != "GET"  # what was not read of the body would be taken for the next request
        close = [("Connection", "close")] if unread else []
        self._head(status, [*(headers or []), *close, ("Content-Length", str(len(body)))])
        self.wfile.write(body)
