"""Asks the Site API which grant the credential is (I18): TLS 1.2 or newer against the profile's authority,
no redirect.
"""

import ssl
from dataclasses import dataclass
from typing import Literal

import msgspec
import urllib3

from installer.domain.strict_json import StrictJsonError, decode_object

PATH = "/v1/site/ssh-access/grant"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Why there is no grant: ``definite`` when the other side said so, else it may be well a minute later."""

    why: str
    definite: bool


def ask_grant(
    url: str, authority: bytes | None, token: bytes, *, timeout: float, limit: int
) -> Grant | Unanswered:
    """The grant of ``token`` at the origin ``url``, which shows a certificate of ``authority`` (PEM; None:
    one the host trusts). The token is in no message (X5).
    """
    try:
        context = _context(authority)
    except (OSError, ValueError) as error:
        return Unanswered(why=f"the authority's file cannot be used: {_reason(error)}", definite=True)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    headers = {
        "Authorization": f"Bearer {token.decode('ascii')}",
        "Accept": "application/json",
        "Pharos-Schema": SCHEMAS,
    }
    try:
        with urllib3.PoolManager(ssl_context=context, retries=False, timeout=timeout, num_pools=1) as pool:
            answer = pool.request("GET", url + PATH, headers=headers, redirect=False, preload_content=False)
            try:
                body = answer.read(limit + 1, decode_content=False)
            finally:
                answer.release_conn()
    except urllib3.exceptions.SSLError as error:
        return Unanswered(why=f"TLS: {_reason(error)}", definite=True)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return Unanswered(why=_reason(error), definite=False)
    return _judge(answer.status, answer.headers.get("Content-Type", ""), body, limit)


def _context(authority: bytes | None) -> ssl.SSLContext:
    """What is trusted. Raises OSError and ValueError for an authority without a certificate, which must
    never mean "whatever the host trusts".
    """
    if authority is None:
        return ssl.create_default_context()
    if not authority.strip():
        raise ValueError("it is empty")
    # Comments beside the certificates may be in any language; ssl takes ASCII alone.
    text = authority.decode("latin-1").encode("ascii", "replace").decode("ascii")
    return ssl.create_default_context(cadata=text)


def _judge(status: int, content_type: str, body: bytes, limit: int) -> Grant | Unanswered:
    if 300 <= status < 400:
        return Unanswered(why=f"it redirects (HTTP {status}); a redirect is never followed", definite=True)
    if status != 200:
        words = _STATUS_WORDS.get(status, "no grant")
        return Unanswered(why=f"HTTP {status}: {words}", definite=status in _STATUS_WORDS)
    if content_type.partition(";")[0].strip() != "application/json" or len(body) > limit:
        return Unanswered(why="its answer is no JSON of bounded size", definite=True)
    try:
        return msgspec.convert(decode_object(body), Grant, strict=True)
    except (StrictJsonError, msgspec.ValidationError) as error:
        return Unanswered(why=f"its answer is not a grant of schema 1: {error}", definite=True)


def _reason(error: Exception) -> str:
    """The innermost reason in words, bounded."""
    inner: BaseException = error
    while (following := inner.__cause__ or inner.__context__) is not None:
        inner = following
    return f"{type(inner).__name__}: {inner}"[:300]
