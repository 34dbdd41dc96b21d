"""What a profile says when ``reporter`` is among its components: intake, Waldur, Slurm, groups, the agent's
directory connection, and how the upstream agent runs beside it (I8, I16, I18, S8).

The sections are there exactly then. Each origin is another host than the others (I18); the directory is
asked without TLS over loopback alone (I8).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from installer.domain.profile_rules import check_api_url, check_name, check_origin, check_path, refuse
from installer.domain.profile_slurm import Slurm

SECTIONS = ("intake", "waldur", "gid_range", "site_agent_modes", "event_process")
"""With the reporter alone; ``slurm`` stands there with the runtime too."""
REPORT_MODE = "report"
FIRST_MEMBER_GID = 1000
_LOOPBACK = frozenset({"127.0.0.1", "::1"})
_AMOUNT = re.compile(r"cpu|memory|gpu\.[a-z0-9][a-z0-9_-]{0,31}")
_ALWAYS = {"cpu", "memory"}
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """The Site intake's origin at central (P11) and its certificate authority; empty: the system's store."""

    url: str
    ca_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waldur:
    """The marketplace: its API's URL, the instance's name as central has it, and the Site's one offering."""

    api_url: str
    instance: str
    offering_uuid: str
    ca_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GidRange:
    """Numeric ids of allocation groups, both ends included (I9)."""

    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapAgent:
    """``pharos-agent``'s directory connection: a simple bind over loopback (I8)."""

    url: str
    bind_dn: str
    people_base: str
    groups_base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReporterProfile:
    """All of it, whole and checked."""

    intake: Intake
    waldur: Waldur
    slurm: Slurm
    capacity: Mapping[str, int]
    gid_range: GidRange
    agent: LdapAgent
    site_agent_modes: tuple[str, ...]
    event_process: Literal["none", "stomp"]

    @property
    def recorded_inputs(self) -> dict[str, str]:
        """Endpoints and identities an activation records (I4)."""
        return {
            "intake.url": self.intake.url,
            "waldur.api_url": self.waldur.api_url,
            "waldur.instance": self.waldur.instance,
            "waldur.offering_uuid": self.waldur.offering_uuid,
            "slurm.cluster": self.slurm.cluster,
            "slurm.parent_account": self.slurm.parent_account,
            "ldap.agent.url": self.agent.url,
            "ldap.agent.bind_dn": self.agent.bind_dn,
            "ldap.agent.people_base": self.agent.people_base,
            "ldap.agent.groups_base": self.agent.groups_base,
        }


def check_reporter(reporter: ReporterProfile, *, site_api_url: str) -> None:
    """Raise Refusal ``profile_invalid`` for what the schema cannot say."""
    hosts = {
        "site_api.url": check_origin("site_api.url", site_api_url),
        "intake.url": check_origin("intake.url", reporter.intake.url),
        "waldur.api_url": check_api_url("waldur.api_url", reporter.waldur.api_url),
    }
    if len(set(hosts.values())) != len(hosts):
        refuse(
            ", ".join(hosts),
            "three different hosts: credentials of one never reach another (I18)",
            "Give Site API, intake and Waldur a host name each.",
        )
    check_path("intake.ca_file", reporter.intake.ca_file, optional=True)
    check_path("waldur.ca_file", reporter.waldur.ca_file, optional=True)
    check_path("slurm.commands", reporter.slurm.commands)
    _check_capacity(reporter.capacity)
    _check_agent(reporter.agent)
    if not FIRST_MEMBER_GID <= reporter.gid_range.min <= reporter.gid_range.max:
        refuse("gid_range", f"{FIRST_MEMBER_GID} <= min <= max", "Give the allocation groups' range.")
    if REPORT_MODE not in reporter.site_agent_modes:
        refuse(
            "site_agent_modes",
            f"a list with {REPORT_MODE} in it (I16)",
            "Usage reaches the marketplace by this mode alone; add it.",
        )


def _check_capacity(capacity: Mapping[str, int]) -> None:
    if not capacity.keys() >= _ALWAYS or any(not _AMOUNT.fullmatch(name) for name in capacity):
        refuse(
            "slurm.capacity",
            "cpu (millicores), memory (bytes), and gpu.<model> (devices) where there are some (X3)",
            "Say what one compute node gives, each component in canonical units.",
        )
    if any(not 0 < amount <= _LARGEST for amount in capacity.values()):
        refuse("slurm.capacity", "whole amounts from 1 to 2^63-1 (X3)", "Leave a component without any out.")


def _check_agent(agent: LdapAgent) -> None:
    try:
        parts = urlsplit(agent.url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_ok = urlsplit(""), False
    exact = f"ldap://{parts.netloc}" in {agent.url, agent.url.removesuffix("/")}
    plain = exact and parts.username is None and parts.password is None
    if parts.scheme != "ldap" or parts.hostname not in _LOOPBACK or not plain or not port_ok:
        refuse(
            "ldap.agent.url",
            "ldap://127.0.0.1[:PORT] or ldap://[::1][:PORT]: a password without TLS stays on this host (I8)",
            "Let the directory listen on loopback, and name that.",
        )
    check_name("ldap.agent.bind_dn", agent.bind_dn)
    check_name("ldap.agent.people_base", agent.people_base)
    check_name("ldap.agent.groups_base", agent.groups_base)
