"""The inside of an SSH public key: RFC 4251 §5 strings, RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4.

Rules, each met by at least one row of the C cases:

1. the blob names its own type first, and nothing follows the key;
2. every length is exact and every number is in its shortest form, so a key has one blob only;
3. an elliptic point is uncompressed and lies on its curve (SEC 1 §3.2.2.1; sshd refuses others);
4. RSA numbers are in the bounds of `RSA_LIMITS`.

No library that loads keys is used: loaders accept options, certificates, second lines and loose base64.
"""

from dataclasses import dataclass
from typing import Final

from central.ssh_access.domain.refusals import KeyRefused, Refusal


@dataclass(frozen=True, slots=True)
class RsaLimits:
    """Sizes in bits. The exponent's bound is OpenSSL's own for large moduli; greater never verifies."""

    modulus_min: int = 3072
    modulus_max: int = 16384
    exponent_max: int = 64


@dataclass(frozen=True, slots=True)
class Curve:
    """A short Weierstrass curve y² = x³ − 3x + b over GF(p), of prime order n (FIPS 186-4, D.1.2)."""

    name: str
    p: int
    b: int
    n: int

    @property
    def width(self) -> int:
        """Bytes of one coordinate."""
        return (self.p.bit_length() + 7) // 8

    def holds(self, x: int, y: int) -> bool:
        """True for a point sshd accepts: on the curve, below the order, not of a tiny coordinate."""
        in_range = 0 <= x < self.n - 1 and 0 <= y < self.n - 1
        half = self.n.bit_length() // 2
        long_enough = x.bit_length() > half and y.bit_length() > half
        return in_range and long_enough and (y * y - (x * x * x - 3 * x + self.b)) % self.p == 0


RSA_LIMITS: Final = RsaLimits()

CURVES: Final = {
    "nistp256": Curve(
        name="nistp256",
        p=2**256 - 2**224 + 2**192 + 2**96 - 1,
        b=0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        n=0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    ),
    "nistp384": Curve(
        name="nistp384",
        p=2**384 - 2**128 - 2**96 + 2**32 - 1,
        b=int(
            "B3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875A"
            "C656398D8A2ED19D2A85C8EDD3EC2AEF",
            16,
        ),
        n=int(
            "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF"
            "581A0DB248B0A77AECEC196ACCC52973",
            16,
        ),
    ),
    "nistp521": Curve(
        name="nistp521",
        p=2**521 - 1,
        b=int(
            "0051953EB9618E1C9A1F929A21A0B68540EEA2DA725B99B315F3B8B489918EF1"
            "09E156193951EC7E937B1652C0BD3BB1BF073573DF883D2C34F1EF451FD46B50"
            "3F00",
            16,
        ),
        n=int(
            "01" + "FF" * 32 + "FA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409",
            16,
        ),
    ),
}

ED25519_BYTES: Final = 32
SK_APPLICATION_MAX: Final = 255


class _Reader:
    """RFC 4251 §5 fields from the front of one blob; a field that does not fit is a refusal."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self._at = 0

    def string(self, field: str) -> bytes:
        head = self._blob[self._at : self._at + 4]
        if len(head) < 4:
            raise _malformed(f"the data ends where the length of its {field} should stand")
        length = int.from_bytes(head, "big")
        body = self._blob[self._at + 4 : self._at + 4 + length]
        if len(body) < length:
            raise _malformed(f"its {field} should have {length} bytes, {len(body)} are there")
        self._at += 4 + length
        return body

    def positive(self, field: str) -> int:
        """An mpint that must be above zero and in its shortest form."""
        body = self.string(field)
        if not body or body[0] & 0x80:
            raise _malformed(f"its {field} is not a positive number")
        if body[0] == 0 and (len(body) == 1 or not body[1] & 0x80):
            raise _malformed(f"its {field} is not in its shortest form")
        return int.from_bytes(body, "big")

    def end(self) -> None:
        left = len(self._blob) - self._at
        if left:
            raise KeyRefused(Refusal.TRAILING_BYTES, f"{left} bytes follow the key inside its base64 part")


def _malformed(found: str) -> KeyRefused:
    return KeyRefused(Refusal.BLOB_MALFORMED, found)


def check_blob(key_type: str, blob: bytes) -> int:
    """Holds `blob` to the structure of `key_type` and returns the key's size in bits.

    Raises `KeyRefused` with the first rule broken. `key_type` must be one of `KEY_TYPES`.
    """
    reader = _Reader(blob)
    inner = reader.string("type name")
    if inner != key_type.encode("ascii"):
        shown = inner[:64].decode("ascii", "replace")
        raise KeyRefused(Refusal.TYPE_MISMATCH, f"the line says {key_type}, its base64 part says {shown!r}")
    bits = _READERS[key_type](reader, key_type)
    reader.end()
    return bits


def _ed25519(reader: _Reader, _key_type: str) -> int:
    body = reader.string("public key")
    if len(body) != ED25519_BYTES:
        raise _malformed(f"an Ed25519 key has {ED25519_BYTES} bytes, this one has {len(body)}")
    return 256


def _application(reader: _Reader) -> None:
    """The relying party a security key is bound to: printable ASCII, such as `ssh:`."""
    body = reader.string("application")
    if not 0 < len(body) <= SK_APPLICATION_MAX or any(byte < 0x21 or byte > 0x7E for byte in body):
        raise _malformed("its application is not a short printable name such as ssh:")


def _sk_ed25519(reader: _Reader, key_type: str) -> int:
    bits = _ed25519(reader, key_type)
    _application(reader)
    return bits


def _ecdsa(reader: _Reader, key_type: str) -> int:
    curve_name = reader.string("curve name")
    wanted = _CURVE_OF[key_type]
    if curve_name != wanted.encode("ascii"):
        shown = curve_name[:64].decode("ascii", "replace")
        raise KeyRefused(Refusal.TYPE_MISMATCH, f"{key_type} needs the curve {wanted}, found {shown!r}")
    curve = CURVES[wanted]
    point = reader.string("point")
    if len(point) != 1 + 2 * curve.width or point[0] != 4:
        raise _malformed("its point is not an uncompressed point of the curve's size")
    x = int.from_bytes(point[1 : 1 + curve.width], "big")
    y = int.from_bytes(point[1 + curve.width :], "big")
    if not curve.holds(x, y):
        raise _malformed(f"its point does not lie on {wanted}")
    return curve.n.bit_length()


def _sk_ecdsa(reader: _Reader, key_type: str) -> int:
    bits = _ecdsa(reader, key_type)
    _application(reader)
    return bits


def _rsa(reader: _Reader, _key_type: str) -> int:
    exponent = reader.positive("exponent")
    modulus = reader.positive("modulus")
    bits = modulus.bit_length()
    limits = RSA_LIMITS
    if exponent < 3 or exponent % 2 == 0 or exponent.bit_length() > limits.exponent_max:
        raise _malformed("its exponent is not that of an RSA key")
    if not limits.modulus_min <= bits <= limits.modulus_max:
        raise KeyRefused(
            Refusal.RSA_SIZE,
            f"this RSA key has {bits} bits; {limits.modulus_min} to {limits.modulus_max} are accepted",
        )
    if modulus % 2 == 0:
        raise _malformed("its modulus is not that of an RSA key")
    return bits


_CURVE_OF: Final = {
    "ecdsa-sha2-nistp256": "nistp256",
    "ecdsa-sha2-nistp384": "nistp384",
    "ecdsa-sha2-nistp521": "nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com": "nistp256",
}

_READERS: Final = {
    "ssh-ed25519": _ed25519,
    "sk-ssh-ed25519@openssh.com": _sk_ed25519,
    "ecdsa-sha2-nistp256": _ecdsa,
    "ecdsa-sha2-nistp384": _ecdsa,
    "ecdsa-sha2-nistp521": _ecdsa,
    "sk-ecdsa-sha2-nistp256@openssh.com": _sk_ecdsa,
    "ssh-rsa": _rsa,
}

KEY_TYPES: Final = tuple(_READERS)
