"""The stand-in over TLS: it enforces the wire and misbehaves on request."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulators.served import FaultyHandler, FaultyServer, Served
from tests.simulators.site_api import commands
from tests.simulators.site_api.checks import Problem, changes_query, check_schema_header, results_body
from tests.simulators.site_api.history import History

TOKEN = "phs1_" + "0" * 32 + "_" + "A" * 43
PREFIX = "/v1/site/ssh-access/"
COMMANDS = "/v1/site/commands"
METHODS = {"grant": "GET", "changes": "GET", "results": "POST"}


class SiteApiServer(FaultyServer):
    """One Site's history behind one or more tokens; `tokens` maps a token to its scopes."""

    def __init__(self, address: tuple[str, int], history: History, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, Handler, tls)
        self.history = history
        self.tokens: dict[str, list[str]] = {TOKEN: ["ssh-access"]}
        self.desk = commands.CommandDesk(site=history.site)
        self.expires_at: str | None = None
        self.parked = 0


class Handler(FaultyHandler):
    """The calls of SSH access and of commands."""

    server: SiteApiServer

    def _call(self, path: str) -> str:
        if path.startswith(COMMANDS):
            return path.removeprefix(COMMANDS).rpartition("/")[2] or "commands"
        return path.removeprefix(PREFIX) if path.startswith(PREFIX) else ""

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


@dataclass
class SiteApi(Served):
    """A served stand-in; `away` keeps port and history and cuts every connection."""

    history: History
    certificate: Path
    key: Path
    ca_file: Path
    port: int = 0
    host: str = "127.0.0.1"
    server: SiteApiServer = field(init=False)

    def make(self, address: tuple[str, int], tls: ssl.SSLContext) -> SiteApiServer:
        made, before = SiteApiServer(address, self.history, tls), getattr(self, "server", None)
        if before is not None:
            made.tokens, made.faults = before.tokens, before.faults
            made.requests, made.desk = before.requests, before.desk
        return made
