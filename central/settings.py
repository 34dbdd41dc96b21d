"""The one settings table of central (X6): ``SETTINGS`` is data; ``load_settings`` validates all of it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Process = Literal["site_api", "member_api", "operator", "migrate"]
Environment = Literal["production", "development"]


class SettingsRefused(Exception):
    """Every fault of the environment at once, by variable name; never a value."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: its text form, default (None = required where used), meaning, and who reads it."""

    name: str
    kind: str
    default: str | None
    meaning: str
    processes: frozenset[Process]
    secret: bool = False
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Listen:
    """``host:port``."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Oidc:
    """The members' identity provider. ``ca_file`` None = the system's store."""

    issuer: str
    audience: str
    ca_file: Path | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Validated settings of one process; what the process does not read is None."""

    process: Process
    environment: Environment
    log_level: str
    database_url: str = field(repr=False)
    database_direct_url: str = field(repr=False)
    prepared_statements: bool
    listen: Listen | None
    tls: Tls | None
    oidc: Oidc | None
    sites: tuple[str, ...]
    pollers: int
    development_accounts: Path | None
    ignored: tuple[str, ...]


SETTINGS: tuple[Setting, ...] = ()


def load_settings(environment: Mapping[str, str], process: Process) -> Settings:
    """Return the settings of ``process`` or raise ``SettingsRefused`` naming every fault."""
    raise NotImplementedError
