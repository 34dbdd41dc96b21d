"""The agent's settings: one table (X6). `activate` renders them from the profile; no secret is among the
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from site_bundle.directory.names import dn_text, socket_path
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

TOKEN = "PHAROS_SITE_API_TOKEN"  # noqa: S105 - the variable's name
_SSH = "PHAROS_SSH_ACCESS_"
FOLDERS = ComponentFolders(_SSH, "pharos-ssh-access")

TABLE = (
    Setting("PHAROS_SITE_API_URL", "origin of the Site API, HTTPS", https_origin),
    Setting("PHAROS_SITE_API_CA_FILE", "CA file; empty = the system's store", absolute_path, default=None),
    Setting(TOKEN, "grant token with the scope ssh-access", plain_text, secret=True),
    Setting(f"{_SSH}LDAPI_SOCKET", "path of slapd's ldapi socket", socket_path),
    Setting(f"{_SSH}LDAP_IDENTITY", "who slapd must say this process is", dn_text),
    Setting(f"{_SSH}PEOPLE_BASE", "base right below which members' entries stand", dn_text),
    Setting(f"{_SSH}PROBE_ENTRY", "the administrators' entry for rights checks", dn_text, default=None),
    Setting(f"{_SSH}UID_MIN", "lowest member UID", whole_number(1, 2**32 - 2)),
    Setting(f"{_SSH}UID_MAX", "highest member UID", whole_number(1, 2**32 - 2)),
    Setting(f"{_SSH}CACHE_SECONDS", "sssd's entry_cache_timeout", whole_number(0, 604800), default=5400),
    Setting(
        f"{_SSH}MODE",
        "apply, or observe (writes nothing to LDAP)",
        one_of("apply", "observe"),
        default="apply",
    ),
    *FOLDERS.rows,
)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """All of them, checked."""

    site_api_url: str
    ca_file: Path | None
    credential: Credential
    ldapi_socket: Path
    ldap_identity: str
    people_base: str
    probe_entry: str | None
    uids: NumberRange
    cache_seconds: int
    observe: bool
    state_directory: Path
    runtime_directory: Path


def agent_settings(environment: Mapping[str, str]) -> AgentSettings:
    """SettingsError names every fault at once."""
    values = read_settings(TABLE, environment)
    return AgentSettings(
        site_api_url=values["PHAROS_SITE_API_URL"],
        ca_file=values["PHAROS_SITE_API_CA_FILE"],
        credential=Credential.from_environment(TOKEN, environment),
        ldapi_socket=values[f"{_SSH}LDAPI_SOCKET"],
        ldap_identity=values[f"{_SSH}LDAP_IDENTITY"],
        people_base=values[f"{_SSH}PEOPLE_BASE"],
        probe_entry=values[f"{_SSH}PROBE_ENTRY"],
        uids=number_range(values, f"{_SSH}UID", "uid_range"),
        cache_seconds=values[f"{_SSH}CACHE_SECONDS"],
        observe=values[f"{_SSH}MODE"] == "observe",
        state_directory=FOLDERS.state(environment),
        runtime_directory=FOLDERS.runtime(environment),
    )
