"""A component's settings, rendered from the profile into ``/etc/pharos-hpc/<component>.env``; no secret is
among them.

One table a component: the variable, where its value comes from, its meaning (X6). The unit gives the
credential.
"""

from collections.abc import Callable
from dataclasses import dataclass

from installer.domain.profile import Profile
from installer.domain.refusal import USAGE, Refusal


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable of a component."""

    name: str
    meaning: str
    value: Callable[[Profile], str]


_SSH_ACCESS = (
    Setting("PHAROS_SITE_API_URL", "the Site API's origin", lambda p: p.site_api.url),
    Setting(
        "PHAROS_SITE_API_CA_FILE",
        "its certificate authority; empty: the system's",
        lambda p: p.site_api.ca_file,
    ),
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
SETTINGS: dict[str, tuple[Setting, ...]] = {"ssh-access": _SSH_ACCESS}


def environment_file(component: str, profile: Profile) -> str:
    """The text of the component's environment file (systemd.exec(5), EnvironmentFile=), each value quoted.

    Raises Refusal ``setting_unquotable`` for a value an environment file cannot carry as it is.
    """
    lines = [
        f"# Rendered by `pharos-installer activate` from profile {profile.name}: change that, not this file."
    ]
    for setting in SETTINGS[component]:
        value = setting.value(profile)
        if not value.isprintable() or any(character in value for character in "\"'\\$`"):
            raise Refusal(
                "setting_unquotable",
                found=f"the profile's value for {setting.name} cannot stand in an environment file",
                wanted="printable text without quotes, backslash, backtick and `$`",
                remedy="Write the value without these.",
                exit_code=USAGE,
            )
        lines.append(f'{setting.name}="{value}"')
    return "\n".join(lines) + "\n"
