"""One pasted line → one public key, or a refusal that names what it is instead.

The line's grammar (ledger E6, C cases): `type SP base64 [SP comment]`, nothing before the type.
What is kept is `type SP base64`; the comment is dropped, so that it can neither carry personal data
nor be mistaken for part of the key. The identity of a key is its blob, never the text around it (B16).
"""

import base64
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from central.ssh_access.domain.key_blob import KEY_TYPES, check_blob
from central.ssh_access.domain.refusals import KeyRefused, Refusal

LINE_BYTES_MAX: Final = 8192
"""A 16,384-bit RSA key takes 2,800 bytes of base64; the rest is room for a comment."""

_CERTIFICATE_SUFFIX: Final = "-cert-v01@openssh.com"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+=*")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories nobody types into a key: controls, formats, surrogates, line separators (C04, C18)."""

_TYPE_LIKE: Final = re.compile(r"[A-Za-z0-9@.-]{1,48}")
"""What may be repeated in a refusal: the form of a type's name, too short for a key."""

_FORMATS: Final = (
    (re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"), Refusal.PRIVATE_KEY, "a private key"),
    (re.compile(r"PuTTY-User-Key-File"), Refusal.PRIVATE_KEY, "a PuTTY private key file"),
    (re.compile(r"---- BEGIN SSH2"), Refusal.RFC4716, "an RFC 4716 (SSH2) public key block"),
    (re.compile(r"-----BEGIN"), Refusal.PEM, "a PEM block"),
)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that passed the grammar. Equal keys have equal blobs."""

    key_type: str
    blob: bytes
    bits: int

    @property
    def line(self) -> str:
        """`type SP base64`: what a Site writes, and all of it."""
        return f"{self.key_type} {base64.b64encode(self.blob).decode('ascii')}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -lf` prints it: SHA-256 of the blob, base64 without padding."""
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def parse_public_key(line: str) -> PublicKey:
    """Reads one line. Blanks and line ends around it are ignored (B15); anything else off is `KeyRefused`."""
    text = _one_line(line)
    key_type, _, rest = text.partition(" ")
    _check_type(key_type, rest)
    encoded = rest.lstrip(" ").partition(" ")[0]
    if not encoded:
        raise KeyRefused(Refusal.NO_BLOB, f"nothing stands after {key_type}")
    blob = _decode(encoded)
    return PublicKey(key_type=key_type, blob=blob, bits=check_blob(key_type, blob))


def _one_line(line: str) -> str:
    size = len(line.encode("utf-8", "surrogatepass"))
    if size > LINE_BYTES_MAX:
        raise KeyRefused(Refusal.TOO_LONG, f"{size} bytes; a key line has at most {LINE_BYTES_MAX}")
    text = line.strip(" \r\n")
    if not text:
        raise KeyRefused(Refusal.EMPTY, "the line is empty")
    for pattern, refusal, what in _FORMATS:
        if pattern.match(text):
            raise KeyRefused(refusal, f"this is {what}, not the one-line OpenSSH form")
    if "\n" in text or "\r" in text:
        raise KeyRefused(Refusal.SEVERAL_LINES, "there is more than one line")
    if not text.isascii() and any(unicodedata.category(character) in _UNSEEN for character in text):
        raise KeyRefused(Refusal.CONTROL_CHARACTER, "the line holds an invisible character")
    if text.isascii() and not text.isprintable():
        raise KeyRefused(Refusal.CONTROL_CHARACTER, "the line holds a control character")
    return text


def _check_type(word: str, rest: str) -> None:
    if word in KEY_TYPES:
        return
    shown = repr(word) if _TYPE_LIKE.fullmatch(word) else "the first word"
    if word.endswith(_CERTIFICATE_SUFFIX):
        raise KeyRefused(Refusal.CERTIFICATE, f"{shown} is a certificate, not a key")
    if any(later in KEY_TYPES or later.endswith(_CERTIFICATE_SUFFIX) for later in rest.split(" ")):
        raise KeyRefused(Refusal.OPTIONS, "something stands before the key's type")
    accepted = ", ".join(KEY_TYPES)
    raise KeyRefused(Refusal.TYPE_UNSUPPORTED, f"unsupported type: {shown}; supported are {accepted}")


def _decode(encoded: str) -> bytes:
    """Canonical base64 only (RFC 4648 §3.5): one text a blob, the one `ssh-keygen` writes (C09, C10)."""
    if not _BASE64.fullmatch(encoded):
        raise KeyRefused(Refusal.BASE64, "the part after the type is not base64, or the comment touches it")
    digits = len(encoded.rstrip("="))
    if digits % 4 == 1 or len(encoded) - digits != -digits % 4:
        raise KeyRefused(Refusal.BASE64_PADDING, "its base64 part has lost or gained padding ('=')")
    blob = base64.b64decode(encoded, validate=True)
    if base64.b64encode(blob).decode("ascii") != encoded:
        raise KeyRefused(Refusal.BASE64, "its base64 part is not in the one form that encodes its bytes")
    return blob
