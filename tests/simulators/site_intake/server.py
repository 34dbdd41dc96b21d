"""The stand-in over TLS; it misbehaves on request, as the Site API's does."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.simulators.site_api.checks import Problem, check_schema_header
from tests.simulators.site_api.history import History
from tests.simulators.site_api.server import Handler, SiteApiServer
from tests.simulators.site_intake.platform import Platform

KEY = "intake-key-of-the-stand-in"


class IntakeServer(SiteApiServer):
    """One Site's intake behind one key."""

    def __init__(self, address: tuple[str, int], platform: Platform, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, History(), tls)
        self.platform = platform
        self.keys = {KEY}

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection = self._tls.wrap_socket(request, server_side=True) if self._tls else request
        self.connections.add(connection)
        try:
            IntakeHandler(connection, client_address, self)
        finally:
            self.connections.discard(connection)
            with suppress(OSError):
                connection.close()


class IntakeHandler(Handler):
    """The calls of a reporter; a fault is planned for `reports`, `accounts`, `members` or
    `retained-accounts`.
    """

    server: IntakeServer

    def _serve(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.requestline.split(" ")[1].partition("?")
        prefix = f"/resource-provisioning/{self.server.platform.site}/"
        call = path.removeprefix(prefix) if path.startswith(prefix) else ""
        self.server.requests.append((method, self.path))
        fault = self.server.faults.take(call)
        if fault is not None and fault != "lose" and self._misbehave(fault):
            return
        try:
            status, document = 200, self._answer(method, call, path, query, raw)
        except Problem as problem:
            status = problem.status
            document = {"type": f"urn:pharos:problem:{problem.code}", "status": status, "code": problem.code}
        if fault == "lose":
            self._hang_up()
        else:
            self._send(status, json.dumps(document, separators=(",", ":")).encode())

    def _answer(self, method: str, call: str, path: str, query: str, raw: bytes) -> dict[str, Any]:
        server = self.server
        kind, _, key = (self.headers.get("Authorization") or "").partition(" ")
        if kind != "Bearer" or key not in server.keys:
            raise Problem(401, "unauthenticated")
        check_schema_header(self.headers.get("Pharos-Schema"))
        if (method, call) == ("GET", "members"):
            asked = parse_qs(query, strict_parsing=True)
            if asked.keys() != {"providerProjectRef"} or len(asked["providerProjectRef"]) != 1:
                raise Problem(400, "query_invalid")
            return server.platform.members(asked["providerProjectRef"][0], server.now())
        if query:
            raise Problem(400, "query_invalid")
        if (method, call) == ("GET", "retained-accounts"):
            return server.platform.kept(server.now())
        if method == "POST" and call in {"reports", "accounts"}:
            if self.headers.get("Content-Type") != "application/json":
                raise Problem(415, "media_type_refused")
            return server.platform.take(call, raw, server.now())
        raise Problem(404, "not_found")


@dataclass
class SiteIntake:
    """A served stand-in; `away` keeps port and state and cuts every connection."""

    platform: Platform
    certificate: Path
    key: Path
    ca_file: Path
    host: str = "127.0.0.1"
    port: int = 0
    server: IntakeServer = field(init=False)

    def start(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        before = getattr(self, "server", None)
        self.server = IntakeServer((self.host, self.port), self.platform, tls)
        if before is not None:
            self.server.faults, self.server.requests = before.faults, before.requests
            self.server.keys, self.server.now = before.keys, before.now
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
