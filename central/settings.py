"""The one settings table of central (X6): ``SETTINGS`` is data; ``load_settings`` reads and checks it
whole.

1. Every fault is found before any connection opens and all are told at once, by name, never by value (X5).
2. An unknown ``PHAROS_`` or ``RESOURCE_PROVISIONING_`` name is a fault, except the service-link forms that
   orchestrators inject (``*_SERVICE_HOST``, ``*_PORT*``): those are ignored and named in
   ``Settings.ignored``.
3. A group is set whole or not at all. An empty variable counts as not set.
4. A secret comes from its variable or from the file its ``_FILE`` twin names (``private_files``), never
   both.
5. A number is plain ASCII digits (D13). Development stand-ins are refused in production (X8).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, cast

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from central.kernel.integers import parse_integer
from central.kernel.private_files import PrivateFileRefused, check_private_file, read_private_file

Process = Literal["site_api", "member_api", "operator", "migrate"]
Environment = Literal["production", "development"]

_EVERY: frozenset[Process] = frozenset({"site_api", "member_api", "operator", "migrate"})
_SERVERS: frozenset[Process] = frozenset({"site_api", "member_api"})
_OURS = ("PHAROS_", "RESOURCE_PROVISIONING_")
_SERVICE_LINK = re.compile(r".*_SERVICE_HOST|.*_PORT(_.*)?")
_SITE = re.compile(r"[a-z][a-z0-9-]{0,31}")


class SettingsRefused(Exception):
    """Every fault of the environment at once, by variable name; never a value."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Listen:
    """Where a process listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files: the certificate with its chain, and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Oidc:
    """The members' identity provider. ``ca_file`` None = the system's store."""

    issuer: str
    audience: str
    ca_file: Path | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. ``default`` None: no default; ``required``: a process of ``processes`` cannot start
    without it.
    """

    name: str
    kind: str
    meaning: str
    parse: Callable[[str], object]
    processes: frozenset[Process]
    default: str | None = None
    required: bool = False
    secret: bool = False
    group: str | None = None


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"wanted one of {', '.join(allowed)}")
        return text

    return parse


def _integer(minimum: int, maximum: int) -> Callable[[str], int]:
    return lambda text: parse_integer(text, minimum=minimum, maximum=maximum)


def _database_url(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("wanted a URL like postgresql://role:password@host:5432/database")
    try:
        conninfo_to_dict(text)
    except ProgrammingError:
        raise ValueError(
            "not a PostgreSQL URL; wanted postgresql://role:password@host:5432/database"
        ) from None
    return text


def _listen(text: str) -> Listen:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", text)
    if match is None:
        raise ValueError("wanted ADDRESS:PORT, like 127.0.0.1:8443 or [::1]:8443")
    host = match[1] or match[2]
    if host != "localhost":
        ip_address(host)
    return Listen(host, parse_integer(match[3], minimum=1, maximum=65535))


def _https_url(text: str) -> str:
    if re.fullmatch(r"https?://[^\s?#@]+", text) is None:
        raise ValueError("wanted an https URL without user, query or fragment")
    return text


def _text(text: str) -> str:
    if len(text) > 256 or not text.isprintable():
        raise ValueError("wanted at most 256 printable characters")
    return text


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute() or not path.is_file():
        raise ValueError("wanted the absolute path of an existing file")
    return path


def _private_file(text: str) -> Path:
    path = _file(text)
    check_private_file(path)
    return path


def _sites(text: str) -> tuple[str, ...]:
    sites = tuple(text.split(","))
    if len(set(sites)) != len(sites) or not all(_SITE.fullmatch(site) for site in sites):
        raise ValueError(
            "wanted distinct Site names, comma-separated, each [a-z][a-z0-9-]{0,31}, like slurm,k8s"
        )
    return sites


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(str(ip_address(part.strip())) for part in text.split(","))


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "PHAROS_ENVIRONMENT", "production | development",
        "`development` alone allows stand-ins (X8).",
        _one_of("production", "development"), _EVERY, "production",
    ),
    Setting(
        "PHAROS_LOG_LEVEL", "debug | info | warning | error", "The least level that is logged.",
        _one_of("debug", "info", "warning", "error"), _EVERY, "info",
    ),
    Setting(
        "PHAROS_DATABASE_URL", "PostgreSQL URL",
        "The process's own role; may lead through a transaction pooler. `migrate` wants the migrator's role.",
        _database_url, _EVERY, required=True, secret=True,
    ),
    Setting(
        "PHAROS_DATABASE_DIRECT_URL", "PostgreSQL URL",
        "PostgreSQL itself, for LISTEN and migrations (O4). Not set: PHAROS_DATABASE_URL.",
        _database_url, _EVERY, secret=True,
    ),
    Setting(
        "PHAROS_DATABASE_PREPARED_STATEMENTS", "on | off",
        "`off` behind a pooler that does not carry prepared statements (PgBouncer before 1.21; F05).",
        _one_of("on", "off"), _SERVERS, "on",
    ),
    Setting(
        "PHAROS_SITE_API_LISTEN", "ADDRESS:PORT", "Where the Site API listens.",
        _listen, frozenset({"site_api"}), "127.0.0.1:8443",
    ),
    Setting(
        "PHAROS_MEMBER_API_LISTEN", "ADDRESS:PORT", "Where the member API listens.",
        _listen, frozenset({"member_api"}), "127.0.0.1:8444",
    ),
    Setting(
        "PHAROS_TLS_CERTIFICATE", "file",
        "PEM certificate with its chain. Not set: plain HTTP behind a TLS proxy.",
        _file, _SERVERS, group="TLS",
    ),
    Setting(
        "PHAROS_TLS_KEY_FILE", "private file", "PEM key of the certificate, not readable by others.",
        _private_file, _SERVERS, group="TLS",
    ),
    Setting(
        "PHAROS_TRUSTED_PROXIES", "addresses, comma-separated",
        "Proxies whose X-Forwarded-For names the peer in the log; nobody else's is believed (G06).",
        _addresses, _SERVERS,
    ),
    Setting(
        "PHAROS_OIDC_ISSUER", "https URL", "The members' issuer, exactly as its tokens name it.",
        _https_url, frozenset({"member_api"}), required=True, group="OIDC",
    ),
    Setting(
        "PHAROS_OIDC_AUDIENCE", "text", "The audience a member's token must name.",
        _text, frozenset({"member_api"}), required=True, group="OIDC",
    ),
    Setting(
        "PHAROS_OIDC_CA_FILE", "file", "PEM bundle to trust for the issuer. Not set: the system's store.",
        _file, frozenset({"member_api"}),
    ),
    Setting(
        "PHAROS_SITES", "names, comma-separated", "The Sites by environment name (`slurm`), not by Site id.",
        _sites, _SERVERS, required=True,
    ),
    Setting(
        "PHAROS_SITE_API_POLLERS", "1 … 64",
        "Long polls a Site may park at once; the Site API has Sites × pollers + 16 threads (X13).",
        _integer(1, 64), frozenset({"site_api"}), "4",
    ),
    Setting(
        "PHAROS_DEVELOPMENT_ACCOUNTS", "file",
        "Stand-in for the members' accounts; development only, refused in production (X8).",
        _file, frozenset({"member_api"}),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Validated settings of one process; what the process does not read is None or empty."""

    process: Process
    environment: Environment
    log_level: str
    database_url: str = field(repr=False)
    database_direct_url: str = field(repr=False)
    prepared_statements: bool
    listen: Listen | None
    tls: Tls | None
    trusted_proxies: tuple[str, ...]
    oidc: Oidc | None
    sites: tuple[str, ...]
    pollers: int
    development_accounts: Path | None
    ignored: tuple[str, ...]


def load_settings(environment: Mapping[str, str], process: Process) -> Settings:
    """Return the settings of ``process`` or raise ``SettingsRefused`` naming every fault."""
    known = {name for setting in SETTINGS for name in _names(setting)}
    ours = sorted(name for name in environment if name.startswith(_OURS) and name not in known)
    ignored = tuple(name for name in ours if _SERVICE_LINK.fullmatch(name))
    faults = [f"{name}: unknown; see docs/settings.md" for name in ours if name not in ignored]
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        try:
            values[setting.name] = _value(setting, environment, process)
        except (ValueError, PrivateFileRefused) as fault:
            faults.append(f"{setting.name}: {fault}")
            values[setting.name] = None
    faults += _group_faults(environment)
    if values["PHAROS_ENVIRONMENT"] != "development":
        faults += _production_faults(values)
    if faults:
        raise SettingsRefused(faults)
    return _assemble(values, process, ignored)


def _names(setting: Setting) -> tuple[str, ...]:
    return (setting.name, f"{setting.name}_FILE") if setting.secret else (setting.name,)


def _value(setting: Setting, environment: Mapping[str, str], process: Process) -> object:
    text = environment.get(setting.name) or None
    if setting.secret:
        path = environment.get(f"{setting.name}_FILE") or None
        if process not in setting.processes:
            return None
        if text is not None and path is not None:
            raise ValueError(f"set it or {setting.name}_FILE, not both")
        text = read_private_file(Path(path)) if path is not None else text
    if text is None:
        text = setting.default
    if text is None:
        if setting.required and process in setting.processes:
            twin = f" (or {setting.name}_FILE)" if setting.secret else ""
            raise ValueError(f"missing{twin}: {setting.meaning}")
        return None
    return setting.parse(text)


def _group_faults(environment: Mapping[str, str]) -> list[str]:
    faults = []
    for group in sorted({setting.group for setting in SETTINGS if setting.group}):
        members = [setting.name for setting in SETTINGS if setting.group == group]
        missing = [name for name in members if not environment.get(name)]
        if missing and len(missing) < len(members):
            faults.append(f"{', '.join(missing)}: missing, for the group {group} is set whole or not at all")
    return faults


def _production_faults(values: Mapping[str, Any]) -> list[str]:
    faults = []
    if values["PHAROS_DEVELOPMENT_ACCOUNTS"] is not None:
        faults.append("PHAROS_DEVELOPMENT_ACCOUNTS: a development stand-in; production refuses it, unset it")
    if str(values["PHAROS_OIDC_ISSUER"] or "https:").startswith("http:"):
        faults.append("PHAROS_OIDC_ISSUER: http is for development; production wants https")
    return faults


def _assemble(values: Mapping[str, Any], process: Process, ignored: tuple[str, ...]) -> Settings:
    certificate, issuer = values["PHAROS_TLS_CERTIFICATE"], values["PHAROS_OIDC_ISSUER"]
    listen = {"site_api": "PHAROS_SITE_API_LISTEN", "member_api": "PHAROS_MEMBER_API_LISTEN"}.get(process)
    return Settings(
        process=process,
        environment=cast(Environment, values["PHAROS_ENVIRONMENT"]),
        log_level=values["PHAROS_LOG_LEVEL"],
        database_url=values["PHAROS_DATABASE_URL"],
        database_direct_url=values["PHAROS_DATABASE_DIRECT_URL"] or values["PHAROS_DATABASE_URL"],
        prepared_statements=values["PHAROS_DATABASE_PREPARED_STATEMENTS"] == "on",
        listen=values[listen] if listen else None,
        tls=Tls(certificate, values["PHAROS_TLS_KEY_FILE"]) if certificate else None,
        trusted_proxies=values["PHAROS_TRUSTED_PROXIES"] or (),
        oidc=Oidc(issuer, values["PHAROS_OIDC_AUDIENCE"], values["PHAROS_OIDC_CA_FILE"]) if issuer else None,
        sites=values["PHAROS_SITES"] or (),
        pollers=values["PHAROS_SITE_API_POLLERS"],
        development_accounts=values["PHAROS_DEVELOPMENT_ACCOUNTS"],
        ignored=ignored,
    )
