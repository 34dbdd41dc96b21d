"""What a stored directory value lets in, read as sshd and sssd read it and somewhat more leniently (S7, B15,
B16): what a consumer could accept must be found when it is to be revoked.

1. A value that begins with three NULs is a blob itself: sssd puts it into text (RFC 4251, 5; sssd's
   sss_ssh_format_pubkey).
2. Otherwise lines end at LF (getline) and NUL (C strings); a CR may end one for other consumers.
3. A line may begin with blanks; `#` makes it a comment. The type stands first or behind one word of options,
   whose quoted parts hold blanks (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
4. Inside base64, CR, VT and FF are skipped as isspace(3) has it; lost padding is forgiven, not so by sshd.
5. sshd knows a type by several names, before the blob and in it, and drops leading zeros of RSA numbers: all
   such blobs are one key (`identity`).
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise

_BLOB_START = b"\0\0\0"
_LINE_END = re.compile(rb"[\n\0]")
_SKIPPED = re.compile(rb"[\r\v\f]")
_WORD = re.compile(rb"[^ \t]+")
# One word of options as sshd walks over it: blanks count inside quotes, a quote may be escaped anywhere.
_OPTIONS = re.compile(rb'(?:\\"|"(?:\\"|[^"])*"|[^ \t"])+')
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
_RSA = b"ssh-rsa"
# OpenSSH's other names for the types of ours, lower case: signature algorithms and the short names.
_OTHER_NAMES = {
    b"rsa": _RSA,
    b"rsa-sha2-256": _RSA,
    b"rsa-sha2-512": _RSA,
    b"ed25519": b"ssh-ed25519",
    b"ed25519-sk": b"sk-ssh-ed25519@openssh.com",
    b"ecdsa-sk": b"sk-ecdsa-sha2-nistp256@openssh.com",
    b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com": b"sk-ecdsa-sha2-nistp256@openssh.com",
}


def blobs_in(value: bytes) -> tuple[bytes, ...]:
    """Identities of all keys in `value`, each once."""
    if value.startswith(_BLOB_START):
        return tuple(filter(None, (identity(value),)))
    readings = [reading for line in _lines(value) for reading in (line, *_pieces(line))]
    return tuple(dict.fromkeys(blob for reading in readings if (blob := _line_blob(reading)) is not None))


def value_lines(value: bytes) -> tuple[bytes, ...]:
    """The lines of a stored value that are not blank; a value that is a blob has none."""
    if value.startswith(_BLOB_START):
        return ()
    parts: list[bytes] = []
    for line in _lines(value):
        pieces = _pieces(line)
        several = sum(_line_blob(piece) is not None for piece in pieces) > 1
        parts.extend(pieces if several else (line,))
    return tuple(part.strip() for part in parts if part.strip())


def identity(blob: bytes) -> bytes | None:
    """`blob` as OpenSSH writes it again: under its type's own name, RSA numbers in their shortest form. None
    for what names no type.
    """
    name, rest = _string(blob)
    if not name:
        return None
    kind = _own_name(name)
    if kind == _RSA:
        exponent, after = _string(rest)
        modulus, after = _string(after)
        rest = _number(exponent or b"") + _number(modulus or b"") + after
    return _field(kind) + rest


def _lines(value: bytes) -> list[bytes]:
    return _LINE_END.split(value)


def _pieces(line: bytes) -> list[bytes]:
    return line.split(b"\r")


def _line_blob(line: bytes) -> bytes | None:
    line = line.lstrip(b" \t")
    if line.startswith(b"#"):
        return None
    options = _OPTIONS.match(line)
    behind = line[options.end() :].lstrip(b" \t") if options else b""
    for text in (line, behind):
        words = _WORD.findall(text)
        if len(words) > 1 and (blob := _blob_of(words[0], words[1])) is not None:
            return blob
    # No form of sshd's; a more lenient consumer may look for the type anywhere.
    return next((blob for pair in pairwise(_WORD.findall(line)) if (blob := _blob_of(*pair))), None)


def _blob_of(kind: bytes, text: bytes) -> bytes | None:
    blob = _lenient(_SKIPPED.sub(b"", text))
    if blob is None:
        return None
    name, _ = _string(blob)
    return identity(blob) if name and _own_name(name) == _own_name(kind) else None


def _own_name(name: bytes) -> bytes:
    return _OTHER_NAMES.get(name.lower(), name)


def _lenient(text: bytes) -> bytes | None:
    if not _BASE64.fullmatch(text):
        return None
    bare = text.rstrip(b"=")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None


def _string(data: bytes) -> tuple[bytes | None, bytes]:
    """The first string of `data` and what follows it; None when it is not whole."""
    end = 4 + int.from_bytes(data[:4], "big")
    return (data[4:end], data[end:]) if 4 <= end <= len(data) else (None, data)


def _field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _number(digits: bytes) -> bytes:
    """A positive mpint in its shortest form (RFC 4251, 5)."""
    bare = digits.lstrip(b"\0")
    return _field(b"\0" + bare if bare and bare[0] & 0x80 else bare)
