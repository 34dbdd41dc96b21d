"""Times and sizes the lab lives by, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds unless the name says otherwise."""

    lock: float = 900.0
    """Held while packages are installed or a dead host is swept away."""
    build: float = 900.0
    packages: float = 900.0
    boot: float = 60.0
    clean_stop: float = 20.0
    end: float = 10.0
    unmount: float = 10.0
    command: float = 300.0
    disk_bytes: int = 8 << 30
    trees_kept: int = 2


LIMITS = Limits()
