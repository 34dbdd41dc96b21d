"""What a request must be before any view or credential is looked at (E01, E19, X4; G05, G06)."""

import re
from collections.abc import Collection
from typing import Any

from central.kernel.problems import NOT_FOUND, REQUEST_MALFORMED, URI_TOO_LONG, Problem

Environ = dict[str, Any]

_TRICKS = re.compile(r"//|\\|%2f|%5c|(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_ABSOLUTE = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


def raw_path(environ: Environ) -> str:
    """Return the path as it was sent, still encoded, without the query (E18)."""
    target = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or environ.get("PATH_INFO") or "")
    absolute = _ABSOLUTE.match(target)
    if absolute is not None:
        target = target[absolute.end() :] or "/"
    return re.split(r"[?#]", target, maxsplit=1)[0]


def check_path(environ: Environ, *, path_length: int, query_length: int) -> None:
    """Refuse a path that another reader could read differently; nothing is ever redirected."""
    path = raw_path(environ)
    if len(path) > path_length or len(environ.get("QUERY_STRING", "")) > query_length:
        raise Problem(
            URI_TOO_LONG, f"at most {path_length} characters of path and {query_length} of query are read"
        )
    if re.search(r"%00|\x00", path):
        raise Problem(REQUEST_MALFORMED, "the path holds NUL")
    if _TRICKS.search(path):
        raise Problem(NOT_FOUND, "no such path")


def check_host(environ: Environ) -> None:
    """Refuse an HTTP/1.1 request without its one Host (RFC 9112, 3.2)."""
    host = environ.get("HTTP_HOST")
    if (host is None and environ.get("SERVER_PROTOCOL") != "HTTP/1.0") or "," in (host or ""):
        raise Problem(REQUEST_MALFORMED, "a request carries exactly one Host header")


def peer_address(environ: Environ, trusted_proxies: Collection[str]) -> str:
    """Return who asks: the connected peer, or what a configured proxy says, nobody else's word (G06)."""
    peer = str(environ.get("REMOTE_ADDR") or "")
    if peer not in trusted_proxies:
        return peer
    for hop in reversed(str(environ.get("HTTP_X_FORWARDED_FOR") or "").split(",")):
        address = hop.strip()
        if address and address not in trusted_proxies:
            return address[:64]
    return peer
