"""Who gives out credentials of this Git server: docs/platform.md, "Credentials of the Git host" (S2).

`PUT /v1/credentials/{id}` gives one, or another in its place; `DELETE` takes it back. Loopback, HTTP, one
bearer. Strict: an unknown field or a ref outside `refs/heads/pharos/runs/` is 422.
"""

import hmac
import json
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from uuid import UUID

from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Credential

BODY_MAX: Final = 65_536
_PATH: Final = re.compile(r"/v1/credentials/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_REF: Final = re.compile(r"refs/heads/pharos/runs/[0-9a-f-]{36}")
_WANTED: Final = {"schema", "repository", "writeRef", "expiresAt"}


class Refused(Exception):
    """An answer other than 200, with its status; `error` where it says something of the repository."""

    def __init__(self, status: int, error: str | None = None) -> None:
        super().__init__(str(status))
        self.status = status
        self.error = error


class CredentialServer(ThreadingHTTPServer):
    """Gives credentials of `git` to who knows `token`. `given` are the ids that stand; `out_of_order` answers
    503 to everything; `closed` are repositories nobody gets a credential of.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], git: GitServer, token: str) -> None:
        super().__init__(address, _Handler)
        self.git = git
        self.token = token
        self.given: set[UUID] = set()
        self.out_of_order = False
        self.closed: set[str] = set()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its base."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def give(self, credential_id: UUID, body: bytes) -> dict[str, Any]:
        """A credential in place of an earlier one of this id. Raises `Refused`."""
        try:
            wanted = json.loads(body)
            if set(wanted) != _WANTED or wanted["schema"] != 1:
                raise Refused(422)
            expires = datetime.fromisoformat(wanted["expiresAt"]).timestamp()
            repository, ref = str(wanted["repository"]), wanted["writeRef"]
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(422) from error
        name = repository.removeprefix(self.git.url + "/")
        if name == repository or name not in self.git.repositories.names():
            raise Refused(404, "repository_unknown")
        if name in self.closed:
            raise Refused(403, "repository_refused")
        if ref is not None and not _REF.fullmatch(str(ref)):
            raise Refused(422)
        username, password = f"run-{credential_id}", secrets.token_urlsafe(24)
        writes = (ref,) if ref is not None else ()
        with self.lock:
            self.git.repositories.grant(Credential(username, password, name, expires, writes))
            self.given.add(credential_id)
        until = datetime.fromtimestamp(expires, UTC).isoformat().replace("+00:00", "Z")
        return {"schema": 1, "username": username, "password": password, "expiresAt": until}

    def take_back(self, credential_id: UUID) -> None:
        """An unknown one is no fault."""
        with self.lock:
            self.git.repositories.revoke(f"run-{credential_id}")
            self.given.discard(credential_id)


class _Handler(BaseHTTPRequestHandler):
    server: CredentialServer
    protocol_version = "HTTP/1.1"
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:
        """Silent: nothing of a credential belongs into a log."""

    def do_PUT(self) -> None:
        """Gives."""
        self._answered(self._put)

    def do_DELETE(self) -> None:
        """Takes back."""
        self._answered(self._delete)

    def _answered(self, act: Any) -> None:
        try:
            status, body = act(self._admitted())
        except Refused as refused:
            status, body = refused.status, None
            if refused.error is not None:
                body = {"schema": 1, "error": refused.error}
        self.send_response(status)
        encoded = json.dumps(body).encode() if body is not None else b""
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _admitted(self) -> UUID:
        length = int(self.headers.get("Content-Length") or 0)
        self._body = self.rfile.read(min(length, BODY_MAX))
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            raise Refused(401)
        matched = _PATH.fullmatch(self.path)
        if matched is None:
            raise Refused(404)
        if self.server.out_of_order:
            raise Refused(503)
        return UUID(matched[1])

    def _put(self, credential_id: UUID) -> tuple[int, dict[str, Any]]:
        return 200, self.server.give(credential_id, self._body)

    def _delete(self, credential_id: UUID) -> tuple[int, None]:
        self.server.take_back(credential_id)
        return 204, None


@contextmanager
def giving(
    git: GitServer, token: str, address: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[CredentialServer]:
    """Gives while the block runs."""
    with CredentialServer(address, git, token) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)
