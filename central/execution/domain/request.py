"""What a member asks for (E4). Shapes and bounds are the wire's; this is what they mean.

Amounts are canonical units by component (X3). A stage-in or stage-out needs next to nothing, so the
resources are the compute stage's; the others get `STAGING`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

Resources = Mapping[str, int]

STAGING: Final[Resources] = MappingProxyType({"cpu": 1000, "memory": 1 << 30})
"""What a staging job asks for: one core and 1 GiB."""
STAGING_SECONDS: Final = 3600
LARGE_FILE_BYTES: Final = 10 * 1024 * 1024
"""An output of at least this size goes through LFS (S2)."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository over https, without user, query or fragment, at one exact commit (40 or 64 hex)."""

    url: str
    commit: str

    @property
    def host(self) -> str:
        """The Git host, with its port where that is not https' own (RFC 3986 §6.2)."""
        return self.url.partition("://")[2].partition("/")[0].lower().removesuffix(":443")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One Run as it was asked for. `allocation_id` None: the only one that fits. Never shown whole: the
    environment stays with the command (E4).
    """

    project_id: UUID
    site: str
    allocation_id: UUID | None
    repository: Repository
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    resources: tuple[tuple[str, int], ...]
    time_limit_seconds: int
    outputs: tuple[str, ...]
    deadline: datetime

    @property
    def amounts(self) -> Resources:
        """The compute stage's resources by component."""
        return dict(self.resources)
