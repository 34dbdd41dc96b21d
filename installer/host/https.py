"""One HTTPS request of a check: TLS 1.2 or newer against the profile's authority, no redirect, a bounded
answer.

What goes wrong is an ``Unanswered``, never an exception, and never a credential in its words (X5).
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import urllib3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; ``headers`` with names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Why there is no answer to use; ``definite``: the other side said so, no: it may be well in a minute.

    ``answered``: over verified TLS something came back, of the wrong kind. ``credential``: the other side
    refuses the credential.
    """

    why: str
    definite: bool
    answered: bool = False
    credential: bool = False


def get(
    url: str, authority: bytes | None, headers: Mapping[str, str], *, timeout: float, limit: int
) -> Answer | Unanswered:
    """GET ``url``, whose server shows a certificate of ``authority`` (PEM; None: one the host trusts).

    A redirect is an answer of the wrong kind, a body of more than ``limit`` bytes none.
    """
    try:
        context = _context(authority)
    except (OSError, ValueError) as error:
        return Unanswered(why=f"the authority's file cannot be used: {_reason(error)}", definite=True)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        with urllib3.PoolManager(ssl_context=context, retries=False, timeout=timeout, num_pools=1) as pool:
            answer = pool.request("GET", url, headers=dict(headers), redirect=False, preload_content=False)
            try:
                body = answer.read(limit + 1, decode_content=False)
            finally:
                answer.release_conn()
    except urllib3.exceptions.SSLError as error:
        return Unanswered(why=f"TLS: {_reason(error)}", definite=True)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return Unanswered(why=_reason(error), definite=False)
    if 300 <= answer.status < 400:
        return Unanswered(
            why=f"it redirects (HTTP {answer.status}); a redirect is never followed",
            definite=True,
            answered=True,
        )
    if len(body) > limit:
        return Unanswered(why="its answer is no JSON of bounded size", definite=True, answered=True)
    return Answer(
        status=answer.status, headers={key.lower(): value for key, value in answer.headers.items()}, body=body
    )


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


def _reason(error: Exception) -> str:
    """The innermost reason in words, bounded."""
    inner: BaseException = error
    while (following := inner.__cause__ or inner.__context__) is not None:
        inner = following
    return f"{type(inner).__name__}: {inner}"[:300]
