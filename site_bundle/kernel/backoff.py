"""When to try again: exponential with full jitter, decided by the caller of a client (never inside it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Seconds to wait after the n-th failure in a row: uniform in half…whole of first·2ⁿ, at most
    `ceiling`.

    The lower half is cut off so that a failing peer is never asked again at once.
    """

    first: float
    ceiling: float
    draw: Callable[[], float]  # uniform in [0, 1)
    failures: int = 0

    def failed(self, *, at_least: float = 0.0) -> float:
        """The next failure's wait; `at_least` is what the peer asked for (Retry-After), bounded by the
        caller.
        """
        whole = min(self.ceiling, self.first * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return max(at_least, whole * (0.5 + self.draw() / 2))

    def succeeded(self) -> None:
        self.failures = 0
