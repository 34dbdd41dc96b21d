"""The site's public profile as a value (I3, I6, I8, I9, I18, I20).

Its shape is ``profiles/profile.schema.json``'s part and checked before; here stand the rules a schema
cannot say.
Values are never quoted in a refusal: one may be a secret in the wrong place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import msgspec

from installer.domain.checks import Waiver, refuse_bad_waiver
from installer.domain.components import COMPONENTS, REPORTER, RUNTIME
from installer.domain.index import Index, index_fault
from installer.domain.profile_reporter import (
    SECTIONS,
    GidRange,
    Intake,
    LdapAgent,
    ReporterProfile,
    Waldur,
    check_reporter,
)
from installer.domain.profile_rules import (
    check_name,
    check_origin,
    check_path,
    invalid,
    is_plain_path,
    refuse,
)
from installer.domain.profile_runtime import SECTION, Runtime, RuntimeProfile, check_runtime
from installer.domain.profile_slurm import Slurm
from installer.domain.times import parse_time

SCHEMA = 1
FIRST_MEMBER_UID = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteApi:
    """The Site API's own origin (I18) and its certificate authority; empty means the system's store."""

    url: str
    ca_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UidRange:
    """Members' numeric user ids, both ends included."""

    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapAccess:
    """The access agent's directory connection: a socket path with SASL EXTERNAL, no password (I8)."""

    socket: str
    identity: str
    people_base: str
    probe_entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ldap:
    """Named directory connections; the agent's only with ``reporter`` (I8)."""

    ssh_access: LdapAccess
    agent: LdapAgent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sssd:
    """What sssd may still cache after a removal (S7, S12)."""

    entry_cache_timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Where a release's wheels come from (I5): from its archive, or from the one approved index."""

    mode: Literal["wheelhouse", "index"] = "wheelhouse"
    index_url: str = ""
    ca_file: str = ""

    @property
    def index(self) -> Index | None:
        """The approved index; None in mode wheelhouse."""
        return Index(url=self.index_url, ca_file=self.ca_file) if self.mode == "index" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A whole profile."""

    schema: Literal[1]
    name: str
    kind: Literal["production", "laboratory"]
    site: str
    python: str
    architecture: str
    site_api: SiteApi
    uid_range: UidRange
    ldap: Ldap
    sssd: Sssd
    components: tuple[str, ...]
    dependencies: Dependencies = field(default_factory=Dependencies)
    intake: Intake | None = None
    waldur: Waldur | None = None
    slurm: Slurm | None = None
    gid_range: GidRange | None = None
    site_agent_modes: tuple[str, ...] | None = None
    event_process: Literal["none", "stomp"] | None = None
    runtime: Runtime | None = None
    waivers: tuple[Waiver, ...] = field(default=())

    @property
    def laboratory(self) -> bool:
        """Accepts laboratory evidence and checkpoints, and says so loudly (X8)."""
        return self.kind == "laboratory"

    @property
    def reporter(self) -> ReporterProfile:
        """The reporter's sections. Raises Refusal ``profile_invalid`` while one of them is missing."""
        missing = [name for name in SECTIONS if getattr(self, name) is None]
        agent, modes, event_process = self.ldap.agent, self.site_agent_modes, self.event_process
        intake, waldur, slurm, groups = self.intake, self.waldur, self.slurm, self.gid_range
        if intake is None or waldur is None or slurm is None or groups is None:
            raise _incomplete(missing or ["slurm"])
        if agent is None or modes is None or event_process is None or slurm.capacity is None:
            raise _incomplete(missing or ["ldap.agent" if agent is None else "slurm.capacity"])
        return ReporterProfile(
            intake=intake,
            waldur=waldur,
            slurm=slurm,
            capacity=slurm.capacity,
            gid_range=groups,
            agent=agent,
            site_agent_modes=modes,
            event_process=event_process,
        )

    @property
    def for_runtime(self) -> RuntimeProfile:
        """The runtime's sections. Raises Refusal ``profile_invalid`` while one of them is missing."""
        if self.slurm is None or self.runtime is None:
            missing = [name for name in ("slurm", SECTION) if getattr(self, name) is None]
            raise invalid(
                f"{', '.join(missing)}: absent, which",
                f"slurm and {SECTION} with {RUNTIME} among the components",
                "Add what is missing; profiles/README.md explains every key.",
            )
        return RuntimeProfile(slurm=self.slurm, section=self.runtime)

    def recorded_inputs(self, component: str) -> dict[str, str]:
        """What an activation of ``component`` records and a later one compares (I4): interpreter, endpoints,
        identities.
        """
        common = {"site": self.site, "python": self.python}
        if self.dependencies.index is not None:
            common["dependencies.index_url"] = self.dependencies.index_url
        if component == REPORTER:
            return {**common, **self.reporter.recorded_inputs}
        common["site_api.url"] = self.site_api.url
        if component == RUNTIME:
            return {**common, **self.for_runtime.recorded_inputs}
        access = self.ldap.ssh_access
        return {
            **common,
            "ldap.ssh_access.socket": access.socket,
            "ldap.ssh_access.identity": access.identity,
            "ldap.ssh_access.people_base": access.people_base,
        }

    def waivers_by_check(self) -> dict[str, tuple[Waiver, datetime]]:
        """Each waiver with its end."""
        return {w.check: (w, parse_time(w.until, what=f"the waiver of {w.check}")) for w in self.waivers}


def parse_profile(document: Mapping[str, object]) -> Profile:
    """The profile in a document its schema accepted. Raises Refusal ``profile_invalid`` and those of
    waivers.
    """
    try:
        profile = msgspec.convert(document, Profile, strict=True)
    except msgspec.ValidationError as error:
        raise invalid(
            "its shape", "what profile.schema.json says", "Compare it with profiles/README.md."
        ) from error
    check_origin("site_api.url", profile.site_api.url)
    _check_dependencies(profile.dependencies)
    _check_paths(profile)
    _check_names(profile)
    _check_directory(profile.ldap.ssh_access)
    _check_sections(profile)
    if not FIRST_MEMBER_UID <= profile.uid_range.min <= profile.uid_range.max:
        refuse("uid_range", f"{FIRST_MEMBER_UID} <= min <= max", "Give the members' range.")
    seen = [waiver.check for waiver in profile.waivers]
    if len(set(seen)) != len(seen):
        refuse("waivers", "one waiver a check", "Remove the second one.")
    for waiver in profile.waivers:
        refuse_bad_waiver(waiver.check)
    profile.waivers_by_check()
    return profile


def _check_dependencies(dependencies: Dependencies) -> None:
    """An index exactly in mode index: HTTPS, no credential; its authority is a file of the host (I5)."""
    if dependencies.index is None:
        if dependencies.index_url or dependencies.ca_file:
            refuse("dependencies.index_url", "no index in mode wheelhouse", "Remove it, or set mode: index.")
        return
    fault = index_fault(dependencies.index_url)
    if fault is not None:
        wanted = f"the approved index as https://HOST[:PORT]/PATH without credentials; it is {fault}"
        refuse("dependencies.index_url", wanted, "Write the simple API's URL, such as https://…/simple/.")
    check_path("dependencies.ca_file", dependencies.ca_file, optional=True)


def _check_sections(profile: Profile) -> None:
    """A component's sections stand in the profile exactly when it is among the components."""
    given: dict[str, list[str]] = {}
    if REPORTER in profile.components:
        check_reporter(profile.reporter, site_api_url=profile.site_api.url)
    else:
        given[REPORTER] = [name for name in SECTIONS if getattr(profile, name) is not None]
        given[REPORTER] += ["ldap.agent"] if profile.ldap.agent is not None else []
    if RUNTIME in profile.components:
        check_runtime(profile.for_runtime)
    else:
        given[RUNTIME] = [SECTION] if profile.runtime is not None else []
    if profile.slurm is not None and not {REPORTER, RUNTIME} & set(profile.components):
        given[f"{REPORTER} or {RUNTIME}"] = ["slurm"]
    for component, sections in given.items():
        if sections:
            refuse(
                ", ".join(sections),
                f"these sections only with {component} among the components",
                f"Remove them, or add {component} to the components.",
            )


def _incomplete(missing: list[str]) -> Exception:
    return invalid(
        f"{', '.join(missing)}: absent, which",
        f"{', '.join(SECTIONS)}, slurm with its capacity and ldap.agent with {REPORTER} among the components",
        "Add what is missing; profiles/README.md explains every key.",
    )


def _check_paths(profile: Profile) -> None:
    socket = profile.ldap.ssh_access.socket
    if ":" in socket or not is_plain_path(socket):
        refuse(
            "ldap.ssh_access.socket",
            "an absolute socket path, no URL (I8)",
            "Write /run/slapd/ldapi, for instance.",
        )
    check_path("python", profile.python)
    check_path("site_api.ca_file", profile.site_api.ca_file, optional=True)


def _check_names(profile: Profile) -> None:
    if profile.site == profile.name:
        refuse(
            "site",
            "the environment's name at central, not this site's id (P32)",
            "Write slurm, for instance.",
        )
    unknown = sorted(set(profile.components) - set(COMPONENTS))
    if unknown or len(set(profile.components)) != len(profile.components):
        refuse("components", f"each once, of {', '.join(COMPONENTS)}", "Correct the list.")


def _check_directory(access: LdapAccess) -> None:
    check_name("ldap.ssh_access.identity", access.identity)
    check_name("ldap.ssh_access.people_base", access.people_base)
    first, separator, parent = access.probe_entry.partition(",")
    if not separator or "=" not in first or _plain(parent) != _plain(access.people_base):
        wanted = "an entry directly below people_base, made by the administrators (I9)"
        refuse("ldap.ssh_access.probe_entry", wanted, "Ask them for it; no member's entry serves.")


def _plain(name: str) -> str:
    return ",".join(part.strip().casefold() for part in name.split(","))
