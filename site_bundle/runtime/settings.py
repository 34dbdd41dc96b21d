"""The Runtime's settings: one table (X6). `activate` renders them from the profile; no secret is among the
values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import SettingsError
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
from site_bundle.runtime.domain.stage import Graces

TOKEN = "PHAROS_SITE_API_TOKEN"  # noqa: S105 - the variable's name
_OWN = "PHAROS_RUNTIME_"
FOLDERS = ComponentFolders(_OWN, "pharos-runtime")
_SLURM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)
_GROUP = re.compile(r"[a-z_][a-z0-9_-]{0,31}", re.ASCII)
_SECONDS = whole_number(1, 86_400)
_GRACES = Graces()


def slurm_name(text: str) -> str:
    """A cluster or partition."""
    if not _SLURM_NAME.fullmatch(text):
        raise ValueError("a Slurm name is wanted")
    return text


def group_name(text: str) -> str:
    """A group of this host."""
    if not _GROUP.fullmatch(text):
        raise ValueError("a group's name is wanted")
    return text


def _whole(span: timedelta) -> int:
    return int(span.total_seconds())


TABLE = (
    Setting("PHAROS_SITE_API_URL", "origin of the Site API, HTTPS", https_origin),
    Setting("PHAROS_SITE_API_CA_FILE", "CA file; empty = the system's store", absolute_path, default=None),
    Setting(TOKEN, "grant token with the scope commands", plain_text, secret=True),
    Setting(f"{_OWN}CLUSTER", "the Slurm cluster", slurm_name),
    Setting(f"{_OWN}PARENT_ACCOUNT", "the account above the allocations' accounts", slurm_name),
    Setting(f"{_OWN}UID_MIN", "lowest member UID", whole_number(1, 2**32 - 2)),
    Setting(f"{_OWN}UID_MAX", "highest member UID", whole_number(1, 2**32 - 2)),
    Setting(f"{_OWN}STAGING_PARTITION", "partition of stage-in and stage-out, with Internet", slurm_name),
    Setting(f"{_OWN}COMPUTE_PARTITION", "partition of compute", slurm_name),
    Setting(
        f"{_OWN}SCRATCH", "shared folder of the workspaces", absolute_path, default=Path("/scratch/pharos")
    ),
    Setting(f"{_OWN}MEMBERS_GROUP", "the members' group", group_name, default="pharos-users"),
    Setting(
        f"{_OWN}REPOSITORY_CA_FILE",
        "CA of the Git host; empty = the nodes' store",
        absolute_path,
        default=None,
    ),
    Setting(
        f"{_OWN}LOOKUP_SECONDS",
        "how long a lost submission may still turn up",
        _SECONDS,
        default=_whole(_GRACES.lookup),
    ),
    Setting(
        f"{_OWN}REQUEUE_SECONDS",
        "how long a requeue may take to show",
        _SECONDS,
        default=_whole(_GRACES.requeue),
    ),
    Setting(
        f"{_OWN}MISSING_SECONDS",
        "after how long a job nobody has is lost",
        _SECONDS,
        default=_whole(_GRACES.missing),
    ),
    Setting(f"{_OWN}MODE", "apply, or observe (begins nothing)", one_of("apply", "observe"), default="apply"),
    Setting(f"{_OWN}SLURM_COMMANDS", "folder of Slurm's commands", absolute_path, default=Path("/usr/bin")),
    *FOLDERS.rows,
)


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """All of them, checked."""

    site_api_url: str
    ca_file: Path | None
    credential: Credential
    cluster: str
    parent_account: str
    uids: NumberRange
    staging_partition: str
    compute_partition: str
    scratch: Path
    members_group: str
    repository_ca: Path | None
    graces: Graces
    observe: bool
    slurm_commands: Path
    state_directory: Path
    runtime_directory: Path

    @property
    def grants_root(self) -> Path:
        """Where the helper and CA of each Attempt stand (S4)."""
        return self.scratch / ".runtime"


def runtime_settings(environment: Mapping[str, str]) -> RuntimeSettings:
    """SettingsError names every fault at once."""
    values = read_settings(TABLE, environment)
    graces = Graces(
        lookup=timedelta(seconds=values[f"{_OWN}LOOKUP_SECONDS"]),
        requeue=timedelta(seconds=values[f"{_OWN}REQUEUE_SECONDS"]),
        missing=timedelta(seconds=values[f"{_OWN}MISSING_SECONDS"]),
    )
    if graces.missing < graces.lookup:
        raise SettingsError(
            "settings_refused",
            found=f"{_OWN}MISSING_SECONDS is below {_OWN}LOOKUP_SECONDS",
            wanted="a job that was known is waited for at least as long as one that may not be there",
            remedy="correct the profile",
        )
    return RuntimeSettings(
        site_api_url=values["PHAROS_SITE_API_URL"],
        ca_file=values["PHAROS_SITE_API_CA_FILE"],
        credential=Credential.from_environment(TOKEN, environment),
        cluster=values[f"{_OWN}CLUSTER"],
        parent_account=values[f"{_OWN}PARENT_ACCOUNT"],
        uids=number_range(values, f"{_OWN}UID", "uid_range"),
        staging_partition=values[f"{_OWN}STAGING_PARTITION"],
        compute_partition=values[f"{_OWN}COMPUTE_PARTITION"],
        scratch=values[f"{_OWN}SCRATCH"],
        members_group=values[f"{_OWN}MEMBERS_GROUP"],
        repository_ca=values[f"{_OWN}REPOSITORY_CA_FILE"],
        graces=graces,
        observe=values[f"{_OWN}MODE"] == "observe",
        slurm_commands=values[f"{_OWN}SLURM_COMMANDS"],
        state_directory=FOLDERS.state(environment),
        runtime_directory=FOLDERS.runtime(environment),
    )
