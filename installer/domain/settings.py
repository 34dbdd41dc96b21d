"""A component's settings, rendered from the profile into ``/etc/pharos-hpc/<component>.env``; no secret is
among them.

One table a component: the variable, where its value comes from, its meaning (X6). The unit gives the
credential.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from installer.domain.components import REPORTER, RUNTIME, SSH_ACCESS
from installer.domain.profile import Profile
from installer.domain.refusal import USAGE, Refusal


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable of a component."""

    name: str
    meaning: str
    value: Callable[[Profile], str]


_SITE_API = (
    Setting("PHAROS_SITE_API_URL", "the Site API's origin", lambda p: p.site_api.url),
    Setting(
        "PHAROS_SITE_API_CA_FILE",
        "its certificate authority; empty: the system's",
        lambda p: p.site_api.ca_file,
    ),
)
_SSH_ACCESS = (
    *_SITE_API,
    Setting("PHAROS_SSH_ACCESS_LDAPI_SOCKET", "the directory's socket", lambda p: p.ldap.ssh_access.socket),
    Setting(
        "PHAROS_SSH_ACCESS_LDAP_IDENTITY", "who-am-I must say this", lambda p: p.ldap.ssh_access.identity
    ),
    Setting(
        "PHAROS_SSH_ACCESS_PEOPLE_BASE",
        "members are directly below it",
        lambda p: p.ldap.ssh_access.people_base,
    ),
    Setting(
        "PHAROS_SSH_ACCESS_PROBE_ENTRY",
        "the administrators' probe entry",
        lambda p: p.ldap.ssh_access.probe_entry,
    ),
    Setting("PHAROS_SSH_ACCESS_UID_MIN", "lowest member uid", lambda p: str(p.uid_range.min)),
    Setting("PHAROS_SSH_ACCESS_UID_MAX", "highest member uid", lambda p: str(p.uid_range.max)),
    Setting(
        "PHAROS_SSH_ACCESS_CACHE_SECONDS",
        "how long sssd may still let a removed key in",
        lambda p: str(p.sssd.entry_cache_timeout_seconds),
    ),
    Setting("PHAROS_SSH_ACCESS_MODE", "apply, or observe without a write (S14)", lambda _p: "apply"),
)
_REPORTER = (
    Setting("PHAROS_INTAKE_URL", "the Site intake's origin", lambda p: p.reporter.intake.url),
    Setting(
        "PHAROS_INTAKE_CA_FILE",
        "its certificate authority; empty: the system's",
        lambda p: p.reporter.intake.ca_file,
    ),
    Setting("PHAROS_WALDUR_API_URL", "Waldur's API", lambda p: p.reporter.waldur.api_url),
    Setting(
        "PHAROS_WALDUR_CA_FILE",
        "its certificate authority; empty: the system's",
        lambda p: p.reporter.waldur.ca_file,
    ),
    Setting("PHAROS_WALDUR_OFFERING_UUID", "this Site's offering", lambda p: p.reporter.waldur.offering_uuid),
    Setting(
        "PHAROS_WALDUR_INSTANCE", "the installation's name at central", lambda p: p.reporter.waldur.instance
    ),
    Setting("PHAROS_REPORTER_SITE", "the environment's name at central", lambda p: p.site),
    Setting("PHAROS_REPORTER_LDAP_URL", "the directory on loopback", lambda p: p.reporter.agent.url),
    Setting("PHAROS_REPORTER_LDAP_BIND_DN", "who binds to it", lambda p: p.reporter.agent.bind_dn),
    Setting(
        "PHAROS_REPORTER_PEOPLE_BASE",
        "members are directly below it",
        lambda p: p.reporter.agent.people_base,
    ),
    Setting(
        "PHAROS_REPORTER_GROUPS_BASE",
        "allocation groups are directly below it",
        lambda p: p.reporter.agent.groups_base,
    ),
    Setting("PHAROS_REPORTER_UID_MIN", "lowest member uid", lambda p: str(p.uid_range.min)),
    Setting("PHAROS_REPORTER_UID_MAX", "highest member uid", lambda p: str(p.uid_range.max)),
    Setting("PHAROS_REPORTER_GID_MIN", "lowest allocation gid", lambda p: str(p.reporter.gid_range.min)),
    Setting("PHAROS_REPORTER_GID_MAX", "highest allocation gid", lambda p: str(p.reporter.gid_range.max)),
    Setting("PHAROS_REPORTER_CLUSTER", "Slurm's cluster", lambda p: p.reporter.slurm.cluster),
    Setting(
        "PHAROS_REPORTER_PARENT_ACCOUNT",
        "allocations' accounts stand below it",
        lambda p: p.reporter.slurm.parent_account,
    ),
    Setting(
        "PHAROS_REPORTER_CAPACITY",
        "what one compute node gives, JSON in canonical units (X3)",
        lambda p: json.dumps(
            dict(sorted(p.reporter.capacity.items())), separators=(",", ":"), ensure_ascii=True
        ),
    ),
    Setting("PHAROS_REPORTER_SLURM_COMMANDS", "folder of its commands", lambda p: p.reporter.slurm.commands),
    Setting("PHAROS_REPORTER_MODE", "apply, or observe without a write (S14)", lambda _p: "apply"),
)
_RUNTIME = (
    *_SITE_API,
    Setting("PHAROS_RUNTIME_CLUSTER", "Slurm's cluster", lambda p: p.for_runtime.slurm.cluster),
    Setting(
        "PHAROS_RUNTIME_PARENT_ACCOUNT",
        "allocations' accounts stand below it",
        lambda p: p.for_runtime.slurm.parent_account,
    ),
    Setting("PHAROS_RUNTIME_UID_MIN", "lowest member uid", lambda p: str(p.uid_range.min)),
    Setting("PHAROS_RUNTIME_UID_MAX", "highest member uid", lambda p: str(p.uid_range.max)),
    Setting(
        "PHAROS_RUNTIME_STAGING_PARTITION",
        "partition of stage-in and stage-out, with Internet",
        lambda p: p.for_runtime.section.staging.partition,
    ),
    Setting(
        "PHAROS_RUNTIME_COMPUTE_PARTITION",
        "partition of compute",
        lambda p: p.for_runtime.section.compute.partition,
    ),
    Setting(
        "PHAROS_RUNTIME_SCRATCH",
        "shared folder of the members' workspaces",
        lambda p: p.for_runtime.section.scratch,
    ),
    Setting(
        "PHAROS_RUNTIME_MEMBERS_GROUP",
        "the members' group",
        lambda p: p.for_runtime.section.members_group.name,
    ),
    Setting(
        "PHAROS_RUNTIME_REPOSITORY_CA_FILE",
        "certificate authority of the Git hosts; empty: the nodes' own",
        lambda p: p.for_runtime.section.repository.ca_file,
    ),
    Setting(
        "PHAROS_RUNTIME_LOOKUP_SECONDS",
        "how long a lost submission may still turn up (S12)",
        lambda p: str(p.for_runtime.section.graces.lookup_seconds),
    ),
    Setting(
        "PHAROS_RUNTIME_REQUEUE_SECONDS",
        "how long a requeue may take to show (S12)",
        lambda p: str(p.for_runtime.section.graces.requeue_seconds),
    ),
    Setting(
        "PHAROS_RUNTIME_MISSING_SECONDS",
        "after how long a job nobody has is lost (S12)",
        lambda p: str(p.for_runtime.section.graces.missing_seconds),
    ),
    Setting(
        "PHAROS_RUNTIME_SLURM_COMMANDS", "folder of its commands", lambda p: p.for_runtime.slurm.commands
    ),
    Setting("PHAROS_RUNTIME_MODE", "apply, or observe, which begins nothing (S14)", lambda _p: "apply"),
)
SETTINGS: dict[str, tuple[Setting, ...]] = {
    SSH_ACCESS: _SSH_ACCESS,
    REPORTER: _REPORTER,
    RUNTIME: _RUNTIME,
}


def environment_file(component: str, profile: Profile) -> str:
    """The text of the component's environment file (systemd.exec(5), EnvironmentFile=), each value quoted.

    Raises Refusal ``setting_unquotable`` for a value an environment file cannot carry as it is.
    """
    lines = [
        f"# Rendered by `pharos-installer activate` from profile {profile.name}: change that, not this file."
    ]
    lines += [
        f"{setting.name}={_quoted(setting.name, setting.value(profile))}" for setting in SETTINGS[component]
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str, value: str) -> str:
    """``value`` in the quotes it holds none of: JSON stands in single ones, anything else in double ones."""
    quote = "'" if '"' in value and "'" not in value and value.startswith("{") else '"'
    if not value.isprintable() or any(character in value for character in f"{quote}'\\$`"):
        raise Refusal(
            "setting_unquotable",
            found=f"the profile's value for {name} cannot stand in an environment file",
            wanted="printable text without quotes, backslash, backtick and `$`",
            remedy="Write the value without these.",
            exit_code=USAGE,
        )
    return f"{quote}{value}{quote}"
