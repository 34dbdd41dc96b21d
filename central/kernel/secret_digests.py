"""What is kept in place of a secret, and how the two are compared (E3, X5, X14)."""

import hashlib
import hmac


def secret_digest(secret: str) -> bytes:
    """SHA-256 of a secret's UTF-8 bytes: what is stored in its place."""
    return hashlib.sha256(secret.encode()).digest()


def same_bytes(left: bytes, right: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(left, right)
