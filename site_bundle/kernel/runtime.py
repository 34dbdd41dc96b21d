"""What only composition roots may read: the clock and the kernel's randomness."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)


def draw() -> float:
    """Uniform in [0, 1) from the kernel, without the memory of `random` (S10)."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def nothing(_name: str) -> None:
    """The checkpoint of a production run."""
