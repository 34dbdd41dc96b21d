"""The curves of ECDSA keys: whether a point stands on one (SEC 1, 3.2.2.1; constants of SEC 2, 2.4-2.6)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Curve:
    """y² = x³ - 3x + b over the field of `prime`; `size` bytes a coordinate."""

    name: bytes
    prime: int
    b: int
    size: int

    def holds(self, point: bytes) -> bool:
        """True for an uncompressed point of this curve with reduced coordinates."""
        if len(point) != 1 + 2 * self.size or point[0] != 4:
            return False
        x = int.from_bytes(point[1 : 1 + self.size], "big")
        y = int.from_bytes(point[1 + self.size :], "big")
        if x >= self.prime or y >= self.prime:
            return False
        return (y * y - (x * x * x - 3 * x + self.b)) % self.prime == 0


P256 = Curve(
    b"nistp256",
    2**256 - 2**224 + 2**192 + 2**96 - 1,
    0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    32,
)
P384 = Curve(
    b"nistp384",
    2**384 - 2**128 - 2**96 + 2**32 - 1,
    int(
        "B3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF",
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
    66,
)
