"""Asks the Site intake whether the key opens this Site (P11, I18), with two requests that change nothing.

1. An allocation that cannot exist (the nil UUID) is 404 ``not_found`` for every key of the service, and 401
   for anything else.
2. The same with a schema range nobody speaks is 406 ``schema_unsupported`` only behind the own Site's key:
   the credential is judged before the range (wire.md, Site intake), and another Site's key stays at 404.
"""

from dataclasses import dataclass

from installer.domain.strict_json import StrictJsonError, decode_object
from installer.host.https import Answer, Unanswered, get

SCHEMAS = "1-1"
UNSPOKEN_SCHEMAS = "9999-9999"
_NIL = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The key is this Site's, and the service speaks the schema."""


def ask_intake(
    url: str, site: str, authority: bytes | None, key: bytes, *, timeout: float, limit: int
) -> Opened | Unanswered:
    """Whether ``key`` opens ``site`` at the origin ``url``; the key is in no message (X5)."""
    place = f"{url}/resource-provisioning/{site}/allocations/{_NIL}"
    for schemas, status, code in (
        (SCHEMAS, 404, "not_found"),
        (UNSPOKEN_SCHEMAS, 406, "schema_unsupported"),
    ):
        headers = {
            "Authorization": f"Bearer {key.decode('ascii')}",
            "Accept": "application/json",
            "Pharos-Schema": schemas,
        }
        answer = get(place, authority, headers, timeout=timeout, limit=limit)
        if isinstance(answer, Unanswered):
            return answer
        found = _code(answer)
        if (answer.status, found) != (status, code):
            return _judge(answer.status, found, site)
    return Opened()


def _judge(status: int, code: str, site: str) -> Unanswered:
    if status == 401:
        return Unanswered(why="HTTP 401: the credential is no intake key", definite=True)
    if status == 404 and code == "not_found":
        return Unanswered(
            why=f"HTTP 404: the key is another site's, or nothing is mounted for {site}", definite=True
        )
    if status == 406:
        return Unanswered(why="HTTP 406: central speaks no schema this release reads", definite=True)
    if 400 <= status < 500 and status != 429:
        return Unanswered(why=f"HTTP {status}: there is no Site intake at this origin", definite=True)
    return Unanswered(why=f"HTTP {status}", definite=False)


def _code(answer: Answer) -> str:
    """The problem document's code; empty for any other body (RFC 9457)."""
    if answer.content_type != "application/problem+json":
        return ""
    try:
        code = decode_object(answer.body).get("code")
    except StrictJsonError:
        return ""
    return code if isinstance(code, str) else ""
