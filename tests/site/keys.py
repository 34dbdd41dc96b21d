"""Key material of tests, made of constant bytes: nobody's (cases, "Keys")."""

from __future__ import annotations

import base64


def ed25519(fill: int) -> str:
    """`ssh-ed25519 <base64>` of a key whose 32 bytes are all `fill`."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes([fill]) * 32
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


K1, K2, K3, K9 = ed25519(0x11), ed25519(0x22), ed25519(0x33), ed25519(0x99)
