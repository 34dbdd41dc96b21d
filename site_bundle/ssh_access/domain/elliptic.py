"""The curves of ECDSA keys: whether sshd takes a point (SEC 1, 3.2.2.1; constants of SEC 2, 2.4-2.6)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Curve:
    """y² = x³ - 3x + b over the field of `prime`, of prime `order`; `size` bytes a coordinate."""

    name: bytes
    prime: int
    b: int
    order: int
    size: int

    def holds(self, point: bytes) -> bool:
        """True for an uncompressed point of this curve as OpenSSH's sshkey_ec_validate_public asks: both
        coordinates below order - 1 and longer than half of the order's bits.
        """
        if len(point) != 1 + 2 * self.size or point[0] != 4:
            return False
        x = int.from_bytes(point[1 : 1 + self.size], "big")
        y = int.from_bytes(point[1 + self.size :], "big")
        half = self.order.bit_length() // 2
        if max(x, y) >= self.order - 1 or min(x.bit_length(), y.bit_length()) <= half:
            return False
        return (y * y - (x * x * x - 3 * x + self.b)) % self.prime == 0


P256 = Curve(
    b"nistp256",
    2**256 - 2**224 + 2**192 + 2**96 - 1,
    0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    32,
)
P384 = Curve(
    b"nistp384",
    2**384 - 2**128 - 2**96 + 2**32 - 1,
    int(
        "B3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF",
        16,
    ),
    int(
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973",
        16,
    ),
    48,
)
P521 = Curve(
    b"nistp521",
    2**521 - 1,
    int(
        "0051953EB9618E1C9A1F929A21A0B68540EEA2DA725B99B315F3B8B489918EF1"
        "09E156193951EC7E937B1652C0BD3BB1BF073573DF883D2C34F1EF451FD46B50"
        "3F00",
        16,
    ),
    int("01" + "FF" * 32 + "FA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409", 16),
    66,
)
