"""The stand-in over TLS; it misbehaves on request, as the Site API's does."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.simulators.served import FaultyHandler, FaultyServer, Served
from tests.simulators.site_api.checks import Problem, check_schema_header
from tests.simulators.site_intake.platform import Platform

KEY = "intake-key-of-the-stand-in"


class IntakeServer(FaultyServer):
    """One Site's intake behind one key."""

    def __init__(self, address: tuple[str, int], platform: Platform, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, IntakeHandler, tls)
        self.platform = platform
        self.keys = {KEY}


class IntakeHandler(FaultyHandler):
    """The calls of a reporter; a fault is planned for `reports`, `account-sets`, `accounts`,
    `project-members` or `retained-accounts`.
    """

    server: IntakeServer

    def _call(self, path: str) -> str:
        prefix = f"/resource-provisioning/{self.server.platform.site}/"
        return path.removeprefix(prefix) if path.startswith(prefix) else ""

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
        if (method, call) == ("POST", "project-members"):
            return server.platform.members_of(raw, server.now())
        if method == "POST" and call in {"reports", "account-sets", "accounts"}:
            if self.headers.get("Content-Type") != "application/json":
                raise Problem(415, "media_type_refused")
            return server.platform.take(call, raw, server.now())
        raise Problem(404, "not_found")


@dataclass
class SiteIntake(Served):
    """A served stand-in; `away` keeps port and state and cuts every connection."""

    platform: Platform
    certificate: Path
    key: Path
    ca_file: Path
    host: str = "127.0.0.1"
    port: int = 0
    server: IntakeServer = field(init=False)

    def make(self, address: tuple[str, int], tls: ssl.SSLContext) -> IntakeServer:
        made, before = IntakeServer(address, self.platform, tls), getattr(self, "server", None)
        if before is not None:
            made.faults, made.requests = before.faults, before.requests
            made.keys, made.now = before.keys, before.now
        return made
