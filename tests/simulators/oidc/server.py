"""The issuer over HTTP. Strict: unknown paths are 404, wrong forms are RFC 6749 §5.2 errors."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from tests.simulators.oidc.issuer import GRANT_TYPE, LIFETIME_MAX, Issuer

BODY_MAX = 4096
FIELDS = {"grant_type", "member", "lifetime", "audience", "alg"}
MEMBER = re.compile(r"[\x21-\x7e]{1,255}")


class TokenRequestRefused(Exception):
    """RFC 6749 §5.2: `error` and its description."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


class IssuerServer(ThreadingHTTPServer):
    """Serves one `Issuer`."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], issuer: Issuer) -> None:
        super().__init__(address, Handler)
        self.issuer = issuer


class Handler(BaseHTTPRequestHandler):
    """Routes: the two documents, the token endpoint, and `POST /rotate` for tests."""

    server: IssuerServer
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        """Discovery and key set."""
        documents = {
            "/.well-known/openid-configuration": self.server.issuer.discovery,
            "/jwks": self.server.issuer.key_set,
        }
        document = documents.get(self.path)
        if document is None:
            self._answer(404, {"error": "not_found"})
        else:
            self._answer(200, document())

    def do_POST(self) -> None:
        """Token endpoint and key rotation."""
        body = self._body()
        if body is None:
            return
        if self.path == "/rotate":
            self.server.issuer.rotate()
            self._answer(200, {"rotated": True})
        elif self.path == "/token":
            try:
                self._answer(200, self._token(body))
            except TokenRequestRefused as refused:
                self._answer(400, {"error": refused.error, "error_description": str(refused)})
        else:
            self._answer(404, {"error": "not_found"})

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            self._answer(400, {"error": "invalid_request"})
            return None
        return self.rfile.read(int(length))

    def _token(self, body: bytes) -> dict[str, Any]:
        try:
            form = parse_qs(body.decode("ascii"), strict_parsing=True, keep_blank_values=True)
        except ValueError as error:
            raise TokenRequestRefused("invalid_request", "the body is no form") from error
        if set(form) - FIELDS or any(len(values) != 1 for values in form.values()):
            raise TokenRequestRefused("invalid_request", f"fields are {sorted(FIELDS)}, each once")
        values = {name: entries[0] for name, entries in form.items()}
        if values.get("grant_type") != GRANT_TYPE:
            raise TokenRequestRefused("unsupported_grant_type", f"only {GRANT_TYPE} is offered")
        member, lifetime, algorithm = (
            values.get("member", ""), values.get("lifetime", "300"), values.get("alg", "RS256"),
        )  # fmt: skip
        if not MEMBER.fullmatch(member):
            raise TokenRequestRefused("invalid_request", "member is 1 to 255 printable ASCII characters")
        if not re.fullmatch(r"-?[0-9]{1,6}", lifetime) or abs(int(lifetime)) > LIFETIME_MAX:
            raise TokenRequestRefused("invalid_request", f"lifetime is at most {LIFETIME_MAX} seconds")
        if algorithm not in ("RS256", "ES256"):
            raise TokenRequestRefused("invalid_request", "alg is RS256 or ES256")
        token = self.server.issuer.mint(
            member,
            lifetime=int(lifetime),
            algorithm="RS256" if algorithm == "RS256" else "ES256",
            audience=values.get("audience"),
        )
        return {"access_token": token, "token_type": "Bearer", "expires_in": int(lifetime)}

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
