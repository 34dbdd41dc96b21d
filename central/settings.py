"""The settings of central (X6): ``load_settings`` reads the table (``setting_table``) and checks it whole.

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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, cast

from central.kernel.private_files import PrivateFileRefused, read_private_file
from central.setting_table import EACH_SITE, OWNERS, SETTINGS, Process, Setting
from central.setting_values import Listen, parse_sites

__all__ = [
    "SETTINGS",
    "BrokerUrls",
    "Environment",
    "Listen",
    "Oidc",
    "Process",
    "Repositories",
    "Setting",
    "Settings",
    "SettingsRefused",
    "Tls",
    "TokenClient",
    "load_settings",
]

Environment = Literal["production", "development"]

_BROKER = "RESOURCE_PROVISIONING_VIEWS_BROKER_URL"
_AUDIENCES = "PHAROS_EXECUTION_SLURM_AUDIENCES"
_OURS = ("PHAROS_", "RESOURCE_PROVISIONING_")
_SERVICE_LINK = re.compile(r".*_SERVICE_HOST|.*_PORT(_.*)?")


class SettingsRefused(Exception):
    """Every fault of the environment at once, by variable name; never a value."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


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
class BrokerUrls:
    """The broker as one identity: for statements, and for LISTEN (O4)."""

    url: str = field(repr=False)
    direct_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenClient:
    """How members' tokens are got (E5): central's client at the issuer, the keys consents are sealed with,
    and each Site's audience.
    """

    client_id: str
    secret: str = field(repr=False)
    consent_keys: tuple[str, ...] = field(repr=False)
    audiences: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Repositories:
    """Who gives out credentials of the Git host (S2). ``ca_file`` None = the system's store."""

    url: str
    token: str = field(repr=False)
    ca_file: Path | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Validated settings of one process; what the process does not read is None or empty."""

    process: Process
    environment: Environment
    log_level: str
    database_url: str = field(repr=False)
    database_direct_url: str = field(repr=False)
    provisioning_url: str | None = field(repr=False)
    views_broker: BrokerUrls | None
    queries_broker: BrokerUrls | None
    execution_broker: BrokerUrls | None
    work_owners: tuple[str, ...]
    prepared_statements: bool
    listen: Listen | None
    tls: Tls | None
    trusted_proxies: tuple[str, ...]
    oidc: Oidc | None
    sites: tuple[str, ...]
    kubernetes_sites: tuple[str, ...]
    execution_sites: tuple[str, ...]
    tokens: TokenClient | None
    repositories: Repositories | None
    pollers: int
    account_max_age: timedelta
    confirmation_patience: timedelta
    site_silence: timedelta
    development_accounts: Path | None
    waldur_instance: str | None
    intake_keys: Mapping[str, tuple[str, ...]] = field(repr=False)
    ignored: tuple[str, ...]


def load_settings(environment: Mapping[str, str], process: Process) -> Settings:
    """Return the settings of ``process`` or raise ``SettingsRefused`` naming every fault."""
    each_site = _each_site(environment)
    settings = [each for setting in SETTINGS for each in each_site.get(setting.name, (setting,))]
    known = {name for setting in settings for name in _names(setting)}
    ours = sorted(name for name in environment if name.startswith(_OURS) and name not in known)
    ignored = tuple(name for name in ours if _SERVICE_LINK.fullmatch(name))
    faults = [f"{name}: unknown; see docs/settings.md" for name in ours if name not in ignored]
    values: dict[str, Any] = {}
    for setting in settings:
        try:
            values[setting.name] = _value(setting, environment, process)
        except (ValueError, PrivateFileRefused) as fault:
            faults.append(f"{setting.name}: {fault}")
            values[setting.name] = None
    faults += _group_faults(environment)
    if values["PHAROS_ENVIRONMENT"] != "development":
        faults += _production_faults(values)
    keys = {site: values[name] for site in values["PHAROS_SITES"] or () if values[name := _intake_key(site)]}
    for name in ("PHAROS_KUBERNETES_SITES", "PHAROS_EXECUTION_SITES", _AUDIENCES):
        if not set(values[name] or ()) <= set(values["PHAROS_SITES"] or ()):
            faults.append(f"{name}: names a Site that PHAROS_SITES does not")
    if process == "provisioning_intake":
        faults += _intake_faults(keys, values)
    if process == "member_api":
        faults += _account_faults(values)
    if process in ("site_api", "member_api") and values[_AUDIENCES] is not None:
        faults += _token_faults(values, process)
    if faults:
        raise SettingsRefused(faults)
    return _assemble(values, process, keys, ignored)


def load_sites(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The platform's Sites, for a command that reads no other setting. Raises `SettingsRefused`."""
    text = environment.get("PHAROS_SITES") or None
    if text is None:
        raise SettingsRefused(
            ["PHAROS_SITES: missing: the Sites of the platform by environment name (slurm)"]
        )
    try:
        return parse_sites(text)
    except ValueError as fault:
        raise SettingsRefused([f"PHAROS_SITES: {fault}"]) from None


def _intake_key(site: str) -> str:
    return f"RESOURCE_PROVISIONING_{site.upper().replace('-', '_')}_INTAKE_KEY"


def _each_site(environment: Mapping[str, str]) -> Mapping[str, tuple[Setting, ...]]:
    """The rows that stand once a Site, by the name they have in the table."""
    try:
        sites = parse_sites(environment.get("PHAROS_SITES", ""))
    except ValueError:
        sites = ()
    return {
        row.name: tuple(replace(row, name=_intake_key(site)) for site in sites)
        for row in SETTINGS
        if EACH_SITE in row.name
    }


def _intake_faults(keys: Mapping[str, tuple[str, ...]], values: Mapping[str, Any]) -> list[str]:
    faults = []
    if keys and values["RESOURCE_PROVISIONING_WALDUR_INSTANCE"] is None:
        faults.append("RESOURCE_PROVISIONING_WALDUR_INSTANCE: missing, and an intake key needs it (P11)")
    if keys and values[_BROKER] is None:
        faults.append(f"{_BROKER} (or {_BROKER}_FILE): missing, and an intake key needs it (P20)")
    held = [key for site in keys.values() for key in site]
    if len(set(held)) != len(held):
        names = ", ".join(_intake_key(site) for site in keys)
        faults.append(f"{names}: two Sites share a key; each needs its own, for the key names the Site")
    return faults


def _token_faults(values: Mapping[str, Any], process: Process) -> list[str]:
    """What members' tokens need beside their own group (E5)."""
    needed = ["PHAROS_OIDC_ISSUER"]
    if process == "site_api":
        needed += ["RESOURCE_PROVISIONING_DATABASE_URL", _BROKER, "PHAROS_REPOSITORY_CREDENTIALS_URL"]
    return [
        f"{name}: missing, and the group EXECUTION needs it (E5)" for name in needed if values[name] is None
    ]


def _account_faults(values: Mapping[str, Any]) -> list[str]:
    """Whose account a key goes to comes from provisioning and Beto, or from the stand-in: whole, and one."""
    pair = ("RESOURCE_PROVISIONING_DATABASE_URL", _BROKER)
    missing = [name for name in pair if values[name] is None]
    if len(missing) == 1:
        return [f"{missing[0]}: missing; account evidence needs {' and '.join(pair)} (P30)"]
    if not missing and values["PHAROS_DEVELOPMENT_ACCOUNTS"] is not None:
        return [f"PHAROS_DEVELOPMENT_ACCOUNTS: a stand-in for what {pair[0]} names; set one of the two (X8)"]
    return []


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
        text = _secret_of(Path(path)) if path is not None else text
    if text is None:
        text = setting.default
    if text is None:
        if setting.required and process in setting.processes - setting.spared:
            twin = f" (or {setting.name}_FILE)" if setting.secret else ""
            raise ValueError(f"missing{twin}: {setting.meaning}")
        return None
    return setting.parse(text)


def _secret_of(path: Path) -> str:
    """The file's secret; what is wrong with the file names it (`ValueError`)."""
    try:
        return read_private_file(path)
    except PrivateFileRefused as refused:
        raise ValueError(f"the file {path} {refused}") from None


def _group_faults(environment: Mapping[str, str]) -> list[str]:
    faults = []
    for group in sorted({setting.group for setting in SETTINGS if setting.group}):
        members = [setting.name for setting in SETTINGS if setting.group == group]
        missing = [name for name in members if not (environment.get(name) or environment.get(f"{name}_FILE"))]
        if missing and len(missing) < len(members):
            faults.append(f"{', '.join(missing)}: missing, for the group {group} is set whole or not at all")
    return faults


def _production_faults(values: Mapping[str, Any]) -> list[str]:
    faults = []
    if values["PHAROS_DEVELOPMENT_ACCOUNTS"] is not None:
        faults.append("PHAROS_DEVELOPMENT_ACCOUNTS: a development stand-in; production refuses it, unset it")
    if str(values["PHAROS_OIDC_ISSUER"] or "https:").startswith("http:"):
        faults.append("PHAROS_OIDC_ISSUER: http is for development; production wants https")
    if str(values["PHAROS_REPOSITORY_CREDENTIALS_URL"] or "https:").startswith("http:"):
        faults.append("PHAROS_REPOSITORY_CREDENTIALS_URL: http is for development; production wants https")
    return faults


def _assemble(
    values: Mapping[str, Any],
    process: Process,
    keys: Mapping[str, tuple[str, ...]],
    ignored: tuple[str, ...],
) -> Settings:
    certificate, issuer = values["PHAROS_TLS_CERTIFICATE"], values["PHAROS_OIDC_ISSUER"]
    listen = f"PHAROS_{process.upper()}_LISTEN"
    url = f"{'RESOURCE_PROVISIONING' if process in OWNERS else 'PHAROS'}_DATABASE_URL"
    return Settings(
        process=process,
        environment=cast(Environment, values["PHAROS_ENVIRONMENT"]),
        log_level=values["PHAROS_LOG_LEVEL"],
        database_url=values[url],
        database_direct_url=values["PHAROS_DATABASE_DIRECT_URL"] or values[url],
        provisioning_url=values["RESOURCE_PROVISIONING_DATABASE_URL"],
        views_broker=_broker(values, f"{_OURS[1]}VIEWS"),
        queries_broker=_broker(values, f"{_OURS[1]}QUERIES"),
        execution_broker=_broker(values, f"{_OURS[0]}EXECUTION"),
        work_owners=values["PHAROS_ACCEPTED_WORK_OWNERS"],
        prepared_statements=values["PHAROS_DATABASE_PREPARED_STATEMENTS"] == "on",
        listen=values.get(listen),
        tls=Tls(certificate, values["PHAROS_TLS_KEY_FILE"]) if certificate else None,
        trusted_proxies=values["PHAROS_TRUSTED_PROXIES"] or (),
        oidc=Oidc(issuer, values["PHAROS_OIDC_AUDIENCE"], values["PHAROS_OIDC_CA_FILE"]) if issuer else None,
        sites=values["PHAROS_SITES"] or (),
        kubernetes_sites=values["PHAROS_KUBERNETES_SITES"] or (),
        execution_sites=values["PHAROS_EXECUTION_SITES"] or (),
        tokens=_tokens(values),
        repositories=_repositories(values),
        pollers=values["PHAROS_SITE_API_POLLERS"],
        account_max_age=timedelta(seconds=values["RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS"]),
        confirmation_patience=timedelta(seconds=values["PHAROS_EXECUTION_CONFIRMATION_SECONDS"]),
        site_silence=timedelta(seconds=values["PHAROS_EXECUTION_SILENCE_SECONDS"]),
        development_accounts=values["PHAROS_DEVELOPMENT_ACCOUNTS"],
        waldur_instance=values["RESOURCE_PROVISIONING_WALDUR_INSTANCE"],
        intake_keys=keys,
        ignored=ignored,
    )


def _broker(values: Mapping[str, Any], identity: str) -> BrokerUrls | None:
    url = values[f"{identity}_BROKER_URL"]
    direct = values[f"{identity}_BROKER_DIRECT_URL"]
    return BrokerUrls(url, direct or url) if url else None


def _tokens(values: Mapping[str, Any]) -> TokenClient | None:
    if values["PHAROS_EXECUTION_TOKEN_CLIENT_SECRET"] is None:
        return None  # not set, or another process's
    return TokenClient(
        values["PHAROS_EXECUTION_TOKEN_CLIENT_ID"],
        values["PHAROS_EXECUTION_TOKEN_CLIENT_SECRET"],
        values["PHAROS_EXECUTION_CONSENT_KEYS"],
        values[_AUDIENCES],
    )


def _repositories(values: Mapping[str, Any]) -> Repositories | None:
    url = values["PHAROS_REPOSITORY_CREDENTIALS_URL"]
    token, ca_file = values["PHAROS_REPOSITORY_CREDENTIALS_TOKEN"], values["PHAROS_REPOSITORY_CA_FILE"]
    return Repositories(url, token, ca_file) if token else None
