"""A member at the platform: an access token from the issuer, keys over the member API (E6)."""

import json
import urllib.parse
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from tests.lab.processes import wait_until

MEMBER_GRANT = "urn:pharos:development:member"
REPORTED_WITHIN = 60.0
"""Seconds from a change at central to the Site's report of it: a long poll wakes at once."""


class MemberApiError(Exception):
    """The member API answered something else than was asked for; ``status`` and ``code`` say what."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", ""))
        super().__init__(f"{status} {json.dumps(problem)}")


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a Site. ``ca`` None: plain HTTP on loopback or the system's store."""

    subject: str
    site: str
    api: str
    issuer: str
    ca: Path | None = None

    def add_key(self, line: str, name: str = "laptop") -> dict[str, Any]:
        """Enter a public key; returns the key as central shows it."""
        body = {"schema": 1, "site": self.site, "publicKey": line, "name": name}
        return self._call("POST", "", body, accepted=(200, 201))

    def remove_key(self, key_id: str) -> dict[str, Any]:
        """Ask for a key's removal."""
        return self._call("DELETE", f"/{key_id}", None, accepted=(200, 202))

    def list_keys(self) -> list[dict[str, Any]]:
        """Every key of the member, removed ones included."""
        listed: list[dict[str, Any]] = self._call("GET", "", None, accepted=(200,))["keys"]
        return listed

    def key(self, key_id: str) -> dict[str, Any]:
        """The key as it stands."""
        for key in self.list_keys():
            if key["keyId"] == key_id:
                return key
        raise MemberApiError(404, {"code": "not_listed", "keyId": key_id})

    def wait_for(self, key_id: str, state: str, seconds: float = REPORTED_WITHIN) -> dict[str, Any]:
        """The key once the Site's report made it ``state``; AssertionError with what it is instead."""
        reached = wait_until(lambda: self.key(key_id)["state"] == state, seconds, every=0.2)
        key = self.key(key_id)
        assert reached, f"wanted {state} within {seconds:g} s, the key is {json.dumps(key)}"
        return key

    def call(
        self,
        method: str,
        url: str,
        body: object = None,
        accepted: tuple[int, ...] = (200,),
        *,
        key: str | None = None,
    ) -> dict[str, Any]:
        """One call as this member; every change has a new ``Idempotency-Key`` unless one is given."""
        headers = {"Authorization": f"Bearer {self._token()}"}
        if method != "GET":
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        return self._ask(method, url, content, headers, accepted)

    def _call(self, method: str, path: str, body: object, accepted: tuple[int, ...]) -> dict[str, Any]:
        return self.call(method, f"{self.api}/api/v1/me/ssh-keys{path}", body, accepted)

    def _token(self) -> str:
        form = urllib.parse.urlencode({"grant_type": MEMBER_GRANT, "member": self.subject}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return str(self._ask("POST", f"{self.issuer}/token", form, headers, (200,))["access_token"])

    def _ask(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], accepted: tuple[int, ...]
    ) -> dict[str, Any]:
        with urllib3.PoolManager(ca_certs=str(self.ca) if self.ca else None, retries=False) as pool:
            answer = pool.request(method, url, body=body, headers=headers, timeout=20.0)
        document: dict[str, Any] = json.loads(answer.data)
        if answer.status not in accepted:
            raise MemberApiError(answer.status, document)
        return document
