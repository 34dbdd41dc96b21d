"""Search filters: RFC 4515 text to RFC 4511 bytes. Extensible matches are not known here."""

from __future__ import annotations

import re

from site_bundle.directory.ber import OCTETS, SEQUENCE, element

_AND, _OR, _NOT, _EQUAL, _SUBSTRINGS, _AT_LEAST, _AT_MOST, _PRESENT = (
    0xA0,
    0xA1,
    0xA2,
    0xA3,
    0xA4,
    0xA5,
    0xA6,
    0x87,
)
_INITIAL, _ANY, _FINAL = 0x80, 0x81, 0x82
_ITEM = re.compile(r"([A-Za-z0-9.;-]+)(=|>=|<=)([^()]*)\)")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})?")


def filter_bytes(text: str) -> bytes:
    """The filter `text`. ValueError when it is none; its values are escaped by `escape_filter_value`."""
    made, end = _filter(text, 0)
    if end != len(text):
        raise ValueError("text after the filter's end")
    return made


def _filter(text: str, at: int) -> tuple[bytes, int]:
    if text[at : at + 1] != "(":
        raise ValueError("a filter begins with a parenthesis")
    sign = text[at + 1 : at + 2]
    if sign and sign in "&|!":
        return _set(text, at + 2, {"&": _AND, "|": _OR, "!": _NOT}[sign])
    item = _ITEM.match(text, at + 1)
    if item is None:
        raise ValueError("a filter's item is name, comparison and value in parentheses")
    return _item(*item.groups()), item.end()


def _set(text: str, at: int, tag: int) -> tuple[bytes, int]:
    parts = []
    while text[at : at + 1] == "(":
        part, at = _filter(text, at)
        parts.append(part)
    if text[at : at + 1] != ")" or not parts or (tag == _NOT and len(parts) != 1):
        raise ValueError("a filter that does not end, or is made of no other")
    return element(tag, *parts), at + 1


def _item(name: str, comparison: str, value: str) -> bytes:
    attribute = name.encode("ascii")
    if comparison != "=":
        tag = _AT_LEAST if comparison == ">=" else _AT_MOST
        return element(tag, element(OCTETS, attribute), element(OCTETS, _unescaped(value)))
    if value == "*":
        return element(_PRESENT, attribute)
    pieces = value.split("*")
    if len(pieces) == 1:
        return element(_EQUAL, element(OCTETS, attribute), element(OCTETS, _unescaped(value)))
    last = len(pieces) - 1
    tags = [_INITIAL if number == 0 else _FINAL if number == last else _ANY for number in range(last + 1)]
    shown = [element(tag, _unescaped(piece)) for tag, piece in zip(tags, pieces, strict=True) if piece]
    return element(_SUBSTRINGS, element(OCTETS, attribute), element(SEQUENCE, *shown))


def _unescaped(value: str) -> bytes:
    def byte(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            raise ValueError("a backslash without two hexadecimal digits")
        return bytes.fromhex(match[1].decode("ascii"))

    return _ESCAPE.sub(byte, value.encode())
