"""The issuer over HTTP. Strict: unknown paths are 404, wrong forms are RFC 6749 §5.2 errors."""

import base64
import binascii
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.simulators.oidc.grants import MEMBER, Client, TokenRequestRefused, require_client, token
from tests.simulators.oidc.issuer import Issuer

BODY_MAX = 8192
SLURM = "/slurm/"


class IssuerServer(ThreadingHTTPServer):
    """Serves one `Issuer`."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], issuer: Issuer) -> None:
        super().__init__(address, Handler)
        self.issuer = issuer


class Handler(BaseHTTPRequestHandler):
    """Routes: documents, token endpoint, revocation; `/rotate` and `/development/…` for tests."""

    server: IssuerServer
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        """Discovery and key sets."""
        issuer = self.server.issuer
        documents = {
            "/.well-known/openid-configuration": issuer.discovery,
            "/jwks": issuer.key_set,
        }
        if self.path.startswith(SLURM) and self.path.endswith("/jwks"):
            document = issuer.slurm_key_set(unquote(self.path[len(SLURM) : -len("/jwks")]))
        else:
            document = documents[self.path]() if self.path in documents else None
        if document is None:
            self._answer(404, {"error": "not_found"})
        else:
            self._answer(200, document)

    def do_POST(self) -> None:
        """Token endpoint, revocation, and what tests and a development browser do."""
        body = self._body()
        if body is None:
            return
        routes = {
            "/rotate": self._rotate,
            "/token": self._token,
            "/revoke": self._revoke,
            "/development/consent": self._consent,
            "/development/login": self._login,
            "/development/end-sessions": self._end_sessions,
        }
        route = routes.get(self.path)
        if route is None:
            self._answer(404, {"error": "not_found"})
            return
        try:
            self._answer(200, route(self._form(body)))
        except TokenRequestRefused as refused:
            status = 401 if refused.error == "invalid_client" else 400
            self._answer(status, {"error": refused.error, "error_description": str(refused)})

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            self._answer(400, {"error": "invalid_request"})
            return None
        return self.rfile.read(int(length))

    def _form(self, body: bytes) -> dict[str, str]:
        try:
            form = parse_qs(body.decode("ascii"), strict_parsing=bool(body), keep_blank_values=True)
        except ValueError as error:
            raise TokenRequestRefused("invalid_request", "the body is no form") from error
        if any(len(values) != 1 for values in form.values()):
            raise TokenRequestRefused("invalid_request", "each field once")
        return {name: entries[0] for name, entries in form.items()}

    def _client(self) -> Client:
        """RFC 6749 §2.3.1."""
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, _, secret = base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return unquote(name), unquote(secret)

    def _token(self, form: dict[str, str]) -> dict[str, Any]:
        return token(self.server.issuer, form, self._client())

    def _revoke(self, form: dict[str, str]) -> dict[str, Any]:
        require_client(self.server.issuer, self._client())
        with self.server.issuer.lock:
            self.server.issuer.sessions.revoke(form.get("token", ""))
        return {}

    def _rotate(self, form: dict[str, str]) -> dict[str, Any]:
        self.server.issuer.rotate()
        return {"rotated": True}

    def _consent(self, form: dict[str, str]) -> dict[str, Any]:
        """Stands for the member's browser at the authorization endpoint: the code of an offline consent."""
        member, challenge = form.get("member", ""), form.get("code_challenge", "")
        if not MEMBER.fullmatch(member) or len(challenge) != 43 or "redirect_uri" not in form:
            raise TokenRequestRefused("invalid_request", "member, redirect_uri, code_challenge (S256)")
        issuer = self.server.issuer
        with issuer.lock:
            code = issuer.sessions.authorize(
                member, issuer.client_id, form["redirect_uri"], challenge, time.time()
            )
        return {"code": code}

    def _login(self, form: dict[str, str]) -> dict[str, Any]:
        self.server.issuer.logins[form.get("member", "")] = form.get("preferred_username", "")
        return {}

    def _end_sessions(self, form: dict[str, str]) -> dict[str, Any]:
        with self.server.issuer.lock:
            return {"ended": self.server.issuer.sessions.revoke_member(form.get("member", ""))}

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: a request line may one day hold a token."""
