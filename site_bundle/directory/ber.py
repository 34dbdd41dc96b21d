"""The part of BER that LDAP uses (X.690; RFC 4511, 5.1): tags of one byte, definite lengths."""

from __future__ import annotations

from collections.abc import Iterator

SEQUENCE, SET = 0x30, 0x31
BOOLEAN, INTEGER, OCTETS, ENUMERATED = 0x01, 0x02, 0x04, 0x0A

Element = tuple[int, bytes]  # tag, content


class MalformedBerError(ValueError):
    """The bytes are not the BER that LDAP allows; the text names the rule, never the content."""


def element(tag: int, *parts: bytes) -> bytes:
    """`parts`, one after the other, as the content of one element."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def integer(value: int, tag: int = INTEGER) -> bytes:
    """A number, or with `tag` ENUMERATED one of a list, in the fewest bytes of two's complement."""
    return element(tag, value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True))


def whole_length(data: bytes | bytearray) -> int | None:
    """How many bytes the element at the beginning of `data` has; None when that does not show yet."""
    if len(data) < 2:
        return None
    size = data[1]
    if size < 0x80:
        return 2 + size
    count = size & 0x7F
    if not 1 <= count <= 4:
        raise MalformedBerError("an indefinite length, or one of more than four bytes")
    if len(data) < 2 + count:
        return None
    return 2 + count + int.from_bytes(data[2 : 2 + count], "big")


def elements(data: bytes) -> Iterator[Element]:
    """The elements that `data` is made of, one after the other."""
    at = 0
    while at < len(data):
        if data[at] & 0x1F == 0x1F:
            raise MalformedBerError("a tag of more than one byte")
        head = data[at : at + 6]
        size = whole_length(head)
        if size is None or at + size > len(data):
            raise MalformedBerError("an element that is cut short")
        start = 2 if head[1] < 0x80 else 2 + (head[1] & 0x7F)
        yield data[at], data[at + start : at + size]
        at += size


def number(content: bytes) -> int:
    """The value of an INTEGER's or ENUMERATED's content."""
    if not 1 <= len(content) <= 8:
        raise MalformedBerError("a number of no byte, or of more than eight")
    return int.from_bytes(content, "big", signed=True)
