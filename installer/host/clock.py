"""Time as a port: wall clock for records, monotonic clock for waits."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the installer may ask of time."""

    def now(self) -> datetime:
        """The wall clock, with a zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The host's own clock."""

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """time.monotonic()."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """time.sleep()."""
        time.sleep(seconds)
