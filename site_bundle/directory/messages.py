"""LDAP operations as bytes, and answers read back (RFC 4511, 4). Values are bytes both ways (B16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from site_bundle.directory.ber import (
    BOOLEAN,
    ENUMERATED,
    INTEGER,
    OCTETS,
    SEQUENCE,
    SET,
    MalformedBerError,
    element,
    elements,
    integer,
    number,
)
from site_bundle.directory.filters import filter_bytes

BIND_RESPONSE, ENTRY, DONE, REFERENCE, MODIFY_RESPONSE, EXTENDED_RESPONSE = 0x61, 0x64, 0x65, 0x73, 0x67, 0x78
UNBIND = element(0x42)
BASE, SUBTREE = 0, 2
ADD, DELETE = 0, 1
_VERSION = 3
_DEREFERENCE_ALWAYS = 3
_WHO_AM_I = b"1.3.6.1.4.1.4203.1.11.3"  # RFC 4532
_RESPONSE_VALUE = 0x8B


@dataclass(frozen=True, slots=True)
class Result:
    """An LDAPResult: `code` of RFC 4511, 4.1.9, the server's own words, the `value` of an extended answer."""

    code: int
    text: str
    value: bytes = b""


def bind_external() -> bytes:
    """A SASL EXTERNAL bind (RFC 4422): empty credentials, for without any the server would ask for them."""
    sasl = element(0xA3, element(OCTETS, b"EXTERNAL"), element(OCTETS))
    return element(0x60, integer(_VERSION), element(OCTETS), sasl)


def bind_simple(dn: str, password: str) -> bytes:
    """A bind by name and password. ValueError for an empty one: that would be anonymous (RFC 4513, 5.1.2)."""
    if not dn or not password:
        raise ValueError("a simple bind needs a name and a password")
    return element(0x60, integer(_VERSION), element(OCTETS, dn.encode()), element(0x80, password.encode()))


def who_am_i() -> bytes:
    """Asks for the authorization identity (RFC 4532)."""
    return element(0x77, element(0x80, _WHO_AM_I))


def search(base: str, text: str, attributes: Sequence[str], *, scope: int, seconds: int) -> bytes:
    """All entries matching the filter `text`; the server gives up after `seconds`. ValueError: no filter."""
    return element(
        0x63,
        element(OCTETS, base.encode()),
        integer(scope, ENUMERATED),
        integer(_DEREFERENCE_ALWAYS, ENUMERATED),
        integer(0),
        integer(seconds),
        element(BOOLEAN, b"\0"),
        filter_bytes(text),
        element(SEQUENCE, *(element(OCTETS, name.encode()) for name in attributes)),
    )


def modify(dn: str, attribute: str, change: int, value: bytes) -> bytes:
    """One value of one attribute, added or deleted."""
    values = element(SEQUENCE, element(OCTETS, attribute.encode()), element(SET, element(OCTETS, value)))
    return element(
        0x66,
        element(OCTETS, dn.encode()),
        element(SEQUENCE, element(SEQUENCE, integer(change, ENUMERATED), values)),
    )


def message(number_: int, operation: bytes) -> bytes:
    """`operation` as the message with that number."""
    return element(SEQUENCE, integer(number_), operation)


def read_message(data: bytes) -> tuple[int, int, bytes]:
    """Number, operation's tag and content of one whole message; controls are left out. MalformedBerError."""
    ((tag, content),) = elements(data)
    if tag != SEQUENCE:
        raise MalformedBerError("no LDAP message")
    parts = list(elements(content))
    if len(parts) < 2 or parts[0][0] != INTEGER:
        raise MalformedBerError("an LDAP message without a number and an operation")
    return number(parts[0][1]), parts[1][0], parts[1][1]


def read_result(content: bytes) -> Result:
    """The LDAPResult an answer begins with. MalformedBerError."""
    parts = list(elements(content))
    if [tag for tag, _ in parts[:3]] != [ENUMERATED, OCTETS, OCTETS]:
        raise MalformedBerError("no LDAP result")
    value = next((body for tag, body in parts[3:] if tag == _RESPONSE_VALUE), b"")
    return Result(number(parts[0][1]), parts[2][1].decode("utf-8", "replace"), value)


def read_entry(content: bytes) -> tuple[str, list[tuple[str, tuple[bytes, ...]]]]:
    """DN, and the values by attribute name as the server wrote it. MalformedBerError."""
    parts = list(elements(content))
    if [tag for tag, _ in parts] != [OCTETS, SEQUENCE]:
        raise MalformedBerError("no search entry")
    shown = []
    for tag, attribute in elements(parts[1][1]):
        pair = list(elements(attribute))
        if tag != SEQUENCE or [kind for kind, _ in pair] != [OCTETS, SET]:
            raise MalformedBerError("no attribute of a search entry")
        values = tuple(value for _, value in elements(pair[1][1]))
        shown.append((pair[0][1].decode("ascii", "replace"), values))
    return parts[0][1].decode("utf-8", "strict"), shown
