"""SSH public keys: the strict grammar of what the agent writes (docs/wire.md, key grammar).

One line `type SP base64 [SP comment]` without options; what is written is `type SP base64`. The identity of
a key is its blob: the bytes under the base64 (RFC 4253, 6.6). Other sources: RFC 4251, 5; RFC 5656, 3.1;
RFC 8709; OpenSSH PROTOCOL.u2f and PROTOCOL.certkeys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import unicodedata
from dataclasses import dataclass

from site_bundle.ssh_access.domain.elliptic import P256, P384, P521

MAX_LINE_BYTES = 8192
RSA_MIN_BITS, RSA_MAX_BITS = 3072, 16384
RSA_MAX_EXPONENT_BITS = 64
MAX_APPLICATION_BYTES = 255
_CURVES = {
    "ecdsa-sha2-nistp256": P256,
    "ecdsa-sha2-nistp384": P384,
    "ecdsa-sha2-nistp521": P521,
    "sk-ecdsa-sha2-nistp256@openssh.com": P256,
}
TYPES = frozenset({"ssh-ed25519", "sk-ssh-ed25519@openssh.com", "ssh-rsa", *_CURVES})
_CERTIFICATE = "-cert-v01@openssh.com"
_BASE64_SIGNS = re.compile(r"([A-Za-z0-9+/]+)(=*)")


class MalformedKeyError(ValueError):
    """A line outside the grammar. `code` names the broken rule (tests/contract/v1/ssh-public-keys.json)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that keeps the grammar. Equal blobs are equal keys."""

    kind: str
    blob: bytes

    @property
    def line(self) -> str:
        """What is written in the directory."""
        return f"{self.kind} {base64.b64encode(self.blob).decode('ascii')}"

    @property
    def fingerprint(self) -> str:
        """`SHA256:…` as ssh-keygen -l prints it."""
        return fingerprint(self.blob)


def fingerprint(blob: bytes) -> str:
    """SHA-256 of a blob in OpenSSH's form: base64 without padding."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii")
    return "SHA256:" + digest.rstrip("=")


def parse_public_key(text: str) -> PublicKey:
    """The key a line names; blanks and line ends around it do not count, the comment is not kept.

    MalformedKeyError for everything else.
    """
    line = _one_line(text)
    kind, _, rest = line.partition(" ")
    if kind not in TYPES:
        raise MalformedKeyError(_why_not(kind, rest))
    encoded = rest.lstrip(" ").partition(" ")[0]
    if not encoded:
        raise MalformedKeyError("key_no_blob")
    blob = _decoded(encoded)
    _check_blob(kind, blob)
    return PublicKey(kind, blob)


def _one_line(text: str) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_LINE_BYTES:
        raise MalformedKeyError("key_too_long")
    line = text.strip(" \r\n")
    if not line:
        raise MalformedKeyError("key_empty")
    if line.startswith("PuTTY-User-Key-File") or re.match(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY", line):
        raise MalformedKeyError("key_private")
    if line.startswith("-----BEGIN"):
        raise MalformedKeyError("key_format_pem")
    if line.startswith("---- BEGIN SSH2"):
        raise MalformedKeyError("key_format_rfc4716")
    if "\n" in line or "\r" in line:
        raise MalformedKeyError("key_multiple_lines")
    # Cc and Cf hold the controls and the marks that reorder text, Zl and Zp the other line ends (C04, C18).
    if any(unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for sign in line):
        raise MalformedKeyError("key_control_character")
    return line


def _why_not(kind: str, rest: str) -> str:
    """Why the first word is no type of ours: a type we refuse, or options before the type (C02)."""
    if kind.endswith(_CERTIFICATE):
        return "key_certificate"
    if any(word in TYPES or word.endswith(_CERTIFICATE) for word in rest.split(" ")):
        return "key_options"
    return "key_unsupported_type"


def _decoded(encoded: str) -> bytes:
    signs = _BASE64_SIGNS.fullmatch(encoded)
    if signs is None:
        raise MalformedKeyError("key_bad_base64")
    # A remainder of one sign has no right padding either (C09, C10).
    if len(signs[1]) % 4 == 1 or len(signs[2]) != -len(signs[1]) % 4:
        raise MalformedKeyError("key_base64_padding")
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedKeyError("key_bad_base64") from error
    if base64.b64encode(blob).decode("ascii") != encoded:
        raise MalformedKeyError("key_bad_base64")
    return blob


def _check_blob(kind: str, blob: bytes) -> None:
    fields = _Fields(blob)
    if fields.next() != kind.encode("ascii"):
        raise MalformedKeyError("key_type_mismatch")
    if kind in _CURVES:
        curve = _CURVES[kind]
        if fields.next() != curve.name:
            raise MalformedKeyError("key_type_mismatch")
        _demand(curve.holds(fields.next()))
    elif kind == "ssh-rsa":
        _check_rsa(fields)
    else:
        _demand(len(fields.next()) == 32)
    if kind.startswith("sk-"):
        application = fields.next()
        _demand(
            0 < len(application) <= MAX_APPLICATION_BYTES and all(32 < sign < 127 for sign in application)
        )
    if fields.rest:
        raise MalformedKeyError("key_trailing_bytes")


def _check_rsa(fields: _Fields) -> None:
    exponent, modulus = _positive(fields.next()), _positive(fields.next())
    _demand(exponent >= 3 and exponent % 2 == 1 and exponent.bit_length() <= RSA_MAX_EXPONENT_BITS)
    if not RSA_MIN_BITS <= modulus.bit_length() <= RSA_MAX_BITS:
        raise MalformedKeyError("key_rsa_size")
    _demand(modulus % 2 == 1)


def _demand(holds: bool) -> None:
    if not holds:
        raise MalformedKeyError("key_blob_malformed")


class _Fields:
    """The length-prefixed strings of a blob (RFC 4251, 5)."""

    def __init__(self, blob: bytes) -> None:
        self.rest = blob

    def next(self) -> bytes:
        length = int.from_bytes(self.rest[:4], "big")
        _demand(len(self.rest) >= 4 and length <= len(self.rest) - 4)
        field, self.rest = self.rest[4 : 4 + length], self.rest[4 + length :]
        return field


def _positive(field: bytes) -> int:
    """An mpint (RFC 4251, 5): positive, without needless leading zeros."""
    _demand(bool(field) and not field[0] & 0x80)
    _demand(field[0] != 0 or (len(field) > 1 and bool(field[1] & 0x80)))
    return int.from_bytes(field, "big")
