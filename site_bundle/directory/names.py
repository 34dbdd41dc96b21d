"""Names in LDAP: DNs compared as values (RFC 4514), filter assertion values escaped (RFC 4515), socket
paths.

A DN and a filter escape different characters in different ways; each has its one function here (B03).
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

_FILTER_SPECIAL = re.compile(r"[\\*()\0]")
_HEX = re.compile(r"[0-9A-Fa-f]{2}")


def escape_filter_value(text: str) -> str:
    """`text` as an RFC 4515 assertion value: it matches itself only, never as a wildcard."""
    return _FILTER_SPECIAL.sub(lambda match: f"\\{ord(match[0]):02x}", text)


def socket_path(text: str) -> Path:
    """The ldapi socket's absolute path (I8). ValueError teaches for URL forms, which are easy to get wrong
    (B19).
    """
    if "://" in text:
        raise ValueError(
            "a socket path such as /run/slapd/ldapi is wanted, not a URL: ldapi:///run/slapd/ldapi means the "
            "server's default socket, and a port has no meaning there"
        )
    path = Path(text)
    if not path.is_absolute() or ".." in path.parts or "\0" in text or len(text.encode()) > 107:
        raise ValueError("an absolute socket path of at most 107 bytes is wanted, such as /run/slapd/ldapi")
    return path


def ldapi_url(path: Path) -> str:
    """The URL of a socket path: every slash percent-encoded, no port."""
    return "ldapi://" + quote(str(path), safe="")


def parse_dn(text: str) -> tuple[frozenset[tuple[str, str]], ...]:
    """The RDNs of a DN, first is the leaf: attribute types and values in lower case, escapes resolved,
    blanks folded.

    ValueError when `text` is no DN. Two DNs that give the same tuple name the same entry (caseIgnoreMatch).
    """
    if not text.strip():
        raise ValueError("a distinguished name is wanted, such as cn=agent,dc=example")
    rdns = []
    for part in _split(text, ",;"):
        pairs = []
        for assertion in _split(part, "+"):
            kind, equals, value = assertion.partition("=")
            kind = kind.strip().lower()
            if not equals or not re.fullmatch(r"[a-z][a-z0-9-]*|[0-9]+(\.[0-9]+)*", kind):
                raise ValueError("a distinguished name is wanted, such as cn=agent,dc=example")
            pairs.append((kind, " ".join(_unescape(value).lower().split())))
        rdns.append(frozenset(pairs))
    return tuple(rdns)


def dn_text(text: str) -> str:
    """`text` unchanged if it is a DN; ValueError otherwise (for settings)."""
    parse_dn(text)
    return text


def _split(text: str, separators: str) -> list[str]:
    parts, start, index = [], 0, 0
    while index < len(text):
        if text[index] == "\\":
            index += 2
            continue
        if text[index] in separators:
            parts.append(text[start:index])
            start = index + 1
        index += 1
    return [*parts, text[start:]]


def _unescape(value: str) -> str:
    out = bytearray()
    index = 0
    # A leading or trailing blank counts only when escaped.
    value = value.lstrip(" ")
    while value.endswith(" ") and not value.endswith("\\ "):
        value = value[:-1]
    while index < len(value):
        if value[index] != "\\":
            out += value[index].encode()
            index += 1
        elif _HEX.fullmatch(value[index + 1 : index + 3]):
            out.append(int(value[index + 1 : index + 3], 16))
            index += 3
        else:
            out += value[index + 1 : index + 2].encode()
            index += 2
    return out.decode("utf-8", "replace")
