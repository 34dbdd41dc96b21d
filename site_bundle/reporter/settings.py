"""The reporter's settings: one table (X6). `activate` renders them from the profile; no secret is among the
values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from site_bundle.directory.loopback import loopback_url
from site_bundle.directory.names import dn_text
from site_bundle.kernel.credential import Credential
from site_bundle.kernel.ranges import NumberRange
from site_bundle.kernel.settings import (
    ComponentFolders,
    Setting,
    absolute_path,
    https_origin,
    number_range,
    one_of,
    plain_text,
    read_settings,
    whole_number,
)
from site_bundle.reporter.domain.amounts import Amounts, checked_capacity
from site_bundle.reporter.domain.policy import Policy

KEY = "PHAROS_INTAKE_KEY"
TOKEN = "PHAROS_WALDUR_TOKEN"  # noqa: S105 - the variable's name
_OWN = "PHAROS_REPORTER_"
FOLDERS = ComponentFolders(_OWN, "pharos-reporter")
PASSWORD = f"{_OWN}LDAP_PASSWORD"
_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,63}", re.ASCII)
_SITE = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)
_IDS = whole_number(1, 2**31 - 1)


def api_url(text: str) -> tuple[str, str]:
    """Origin and path of a Waldur API, which ends in `/api/`."""
    origin, mark, rest = text.partition("/api/")
    if not mark or rest:
        raise ValueError("an HTTPS URL that ends in /api/ is wanted, such as https://waldur.example.org/api/")
    host = https_origin(origin.rstrip("/") if origin.count("/") == 2 else "/".join(origin.split("/")[:3]))
    return host, text[len(host) :]


def slurm_name(text: str) -> str:
    """A cluster or account in the form Slurm stores: lower case."""
    if not _NAME.fullmatch(text.lower()):
        raise ValueError("a Slurm name is wanted")
    return text.lower()


def site_name(text: str) -> str:
    """A Site by its environment's name."""
    if not _SITE.fullmatch(text):
        raise ValueError("a Site's name is wanted, such as slurm")
    return text


def capacity(text: str) -> Amounts:
    """A JSON object in canonical units."""
    try:
        value = json.loads(text, parse_float=_no_number, parse_constant=_no_number)
    except ValueError as error:
        raise ValueError("a JSON object of whole numbers is wanted") from error
    return checked_capacity(value)


def _no_number(text: str) -> object:
    raise ValueError(text)


TABLE = (
    Setting("PHAROS_INTAKE_URL", "origin of the Site intake, HTTPS", https_origin),
    Setting("PHAROS_INTAKE_CA_FILE", "CA file; empty = the system's store", absolute_path, default=None),
    Setting(KEY, "the Site's intake key", plain_text, secret=True),
    Setting("PHAROS_WALDUR_API_URL", "Waldur's API, HTTPS, ends in /api/", api_url),
    Setting("PHAROS_WALDUR_CA_FILE", "CA file; empty = the system's store", absolute_path, default=None),
    Setting(TOKEN, "a token that reads the offering's resources", plain_text, secret=True),
    Setting("PHAROS_WALDUR_OFFERING_UUID", "the offering", UUID),
    Setting("PHAROS_WALDUR_INSTANCE", "the Waldur instance, named as at central", plain_text),
    Setting(f"{_OWN}SITE", "the Site's name at central", site_name),
    Setting(f"{_OWN}LDAP_URL", "the directory, on loopback", loopback_url),
    Setting(f"{_OWN}LDAP_BIND_DN", "who binds", dn_text),
    Setting(PASSWORD, "its password", plain_text, secret=True),
    Setting(f"{_OWN}PEOPLE_BASE", "base below which members' entries stand", dn_text),
    Setting(f"{_OWN}GROUPS_BASE", "base below which allocations' groups stand", dn_text),
    Setting(f"{_OWN}UID_MIN", "lowest member UID", _IDS),
    Setting(f"{_OWN}UID_MAX", "highest member UID", _IDS),
    Setting(f"{_OWN}GID_MIN", "lowest GID of a group", _IDS),
    Setting(f"{_OWN}GID_MAX", "highest GID of a group", _IDS),
    Setting(f"{_OWN}CLUSTER", "the Slurm cluster", slurm_name),
    Setting(f"{_OWN}PARENT_ACCOUNT", "the account above the allocations' accounts", slurm_name),
    Setting(f"{_OWN}CAPACITY", "what one compute node gives: JSON, canonical units", capacity),
    Setting(f"{_OWN}INTERVAL_SECONDS", "from pass to pass", whole_number(10, 600), default=60),
    Setting(
        f"{_OWN}MODE",
        "apply, or observe (writes nothing to Slurm)",
        one_of("apply", "observe"),
        default="apply",
    ),
    Setting(f"{_OWN}SLURM_COMMANDS", "folder of Slurm's commands", absolute_path, default=Path("/usr/bin")),
    *FOLDERS.rows,
)


@dataclass(frozen=True, slots=True)
class ReporterSettings:
    """All of them, checked."""

    intake_url: str
    intake_ca_file: Path | None
    intake_key: Credential
    waldur_origin: str
    waldur_prefix: str
    waldur_ca_file: Path | None
    waldur_token: Credential
    offering_id: UUID
    instance: str
    site: str
    ldap_url: str
    bind_dn: str
    password: Credential
    people_base: str
    groups_base: str
    gids: NumberRange
    cluster: str
    policy: Policy
    interval_seconds: int
    observe: bool
    slurm_commands: Path
    state_directory: Path
    runtime_directory: Path


def reporter_settings(environment: Mapping[str, str]) -> ReporterSettings:
    """SettingsError names every fault at once."""
    values = read_settings(TABLE, environment)
    origin, prefix = values["PHAROS_WALDUR_API_URL"]
    return ReporterSettings(
        intake_url=values["PHAROS_INTAKE_URL"],
        intake_ca_file=values["PHAROS_INTAKE_CA_FILE"],
        intake_key=Credential.from_environment(KEY, environment),
        waldur_origin=origin,
        waldur_prefix=prefix,
        waldur_ca_file=values["PHAROS_WALDUR_CA_FILE"],
        waldur_token=Credential.from_environment(TOKEN, environment),
        offering_id=values["PHAROS_WALDUR_OFFERING_UUID"],
        instance=values["PHAROS_WALDUR_INSTANCE"],
        site=values[f"{_OWN}SITE"],
        ldap_url=values[f"{_OWN}LDAP_URL"],
        bind_dn=values[f"{_OWN}LDAP_BIND_DN"],
        password=Credential.from_environment(PASSWORD, environment),
        people_base=values[f"{_OWN}PEOPLE_BASE"],
        groups_base=values[f"{_OWN}GROUPS_BASE"],
        gids=number_range(values, f"{_OWN}GID", "gid_range"),
        cluster=values[f"{_OWN}CLUSTER"],
        policy=Policy(
            capacity=values[f"{_OWN}CAPACITY"],
            parent_account=values[f"{_OWN}PARENT_ACCOUNT"],
            uids=number_range(values, f"{_OWN}UID", "uid_range"),
        ),
        interval_seconds=values[f"{_OWN}INTERVAL_SECONDS"],
        observe=values[f"{_OWN}MODE"] == "observe",
        slurm_commands=values[f"{_OWN}SLURM_COMMANDS"],
        state_directory=FOLDERS.state(environment),
        runtime_directory=FOLDERS.runtime(environment),
    )
