"""What a stored directory value lets in, read as leniently as any consumer of it might (B15, B16).

Options before the type, comments, trailing blanks, several lines and missing padding do not hide a key:
what sshd could accept must be found when it is to be revoked.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise

_WORD = re.compile(rb"[^ \t]+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
_LINE_END = re.compile(rb"[\r\n\0\v\f]")


def blobs_in(value: bytes) -> tuple[bytes, ...]:
    """Blobs of all keys in `value`, one a line at most."""
    return tuple(blob for line in value_lines(value) if (blob := _line_blob(line)) is not None)


def value_lines(value: bytes) -> tuple[bytes, ...]:
    """The lines of a stored value that are not blank."""
    return tuple(part.strip() for part in _LINE_END.split(value) if part.strip())


def _line_blob(line: bytes) -> bytes | None:
    for kind, text in pairwise(_WORD.findall(line)):
        blob = _lenient(text)
        if blob is not None and blob[:4] == len(kind).to_bytes(4, "big") and blob[4 : 4 + len(kind)] == kind:
            return blob
    return None


def _lenient(text: bytes) -> bytes | None:
    if not _BASE64.fullmatch(text):
        return None
    bare = text.rstrip(b"=")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
