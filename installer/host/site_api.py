"""Asks the Site API which grant the credential is (I18)."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from installer.domain.strict_json import StrictJsonError, decode_object
from installer.host.https import Answer, Unanswered, get

PATHS = {"ssh-access": "/v1/site/ssh-access/grant", "commands": "/v1/site/commands/grant"}
"""Where a grant of a scope is told."""
SCHEMAS = "1-1"
_STATUS_WORDS = {
    401: "the credential is not (or no longer) a grant",
    403: "the grant has another scope",
    404: "there is no Site API at this origin",
    406: "central speaks no schema this release reads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The answer, as the wire carries it."""

    schema: Literal[1]
    site: str
    scopes: tuple[str, ...]
    grantId: str  # noqa: N815 - the wire's spelling
    expiresAt: str | None  # noqa: N815


def ask_grant(
    url: str, authority: bytes | None, token: bytes, *, scope: str, timeout: float, limit: int
) -> Grant | Unanswered:
    """The grant of ``token``, which has ``scope``, at the origin ``url``. That shows a certificate of
    ``authority`` (PEM; None: one the host trusts). The token is in no message (X5).
    """
    headers = {
        "Authorization": f"Bearer {token.decode('ascii')}",
        "Accept": "application/json",
        "Pharos-Schema": SCHEMAS,
    }
    answer = get(url + PATHS[scope], authority, headers, timeout=timeout, limit=limit)
    return answer if isinstance(answer, Unanswered) else _judge(answer)


def _judge(answer: Answer) -> Grant | Unanswered:
    if answer.status != 200:
        words = _STATUS_WORDS.get(answer.status, "no grant")
        return Unanswered(
            why=f"HTTP {answer.status}: {words}",
            definite=answer.status in _STATUS_WORDS,
            credential=answer.status in (401, 403),
        )
    if answer.content_type != "application/json":
        return Unanswered(why="its answer is no JSON of bounded size", definite=True)
    try:
        return msgspec.convert(decode_object(answer.body), Grant, strict=True)
    except (StrictJsonError, msgspec.ValidationError) as error:
        return Unanswered(why=f"its answer is not a grant of schema 1: {error}", definite=True)
