"""Bearer credentials (RFC 6750): one strict reading of the header (X5)."""

import re

from central.kernel.problems import UNAUTHENTICATED, Problem

MAX_TOKEN_LENGTH = 4096
_HEADER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] ([A-Za-z0-9\-._~+/]+=*)")


def unauthenticated(detail: str) -> Problem:
    """The 401 every credential refusal answers, with its ``WWW-Authenticate`` challenge."""
    return Problem(UNAUTHENTICATED, detail, headers={"WWW-Authenticate": 'Bearer realm="pharos"'})


def parse_bearer(header: str | None, *, max_length: int = MAX_TOKEN_LENGTH) -> str:
    """Return the token of one ``Authorization`` header value; raise the 401 ``Problem`` for anything else.

    Two headers reach a WSGI application joined by a comma, which no token may hold, so they are refused too.
    """
    if header is None:
        raise unauthenticated("no Authorization header; send `Authorization: Bearer <token>`")
    match = _HEADER.fullmatch(header) if len(header) <= max_length + 7 else None
    if match is None:
        raise unauthenticated("the Authorization header is not one bearer token; send `Bearer <token>` once")
    return match.group(1)
