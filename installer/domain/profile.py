"""The site's public profile as a value (I3, I6, I8, I9, I18, I20).

Its shape is ``profiles/profile.schema.json``'s part and checked before; here stand the rules a schema
cannot say.
Values are never quoted in a refusal: one may be a secret in the wrong place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal, NoReturn
from urllib.parse import urlsplit

import msgspec

from installer.domain.checks import Waiver, refuse_bad_waiver
from installer.domain.refusal import USAGE, Refusal
from installer.domain.times import parse_time

SCHEMA = 1
FIRST_MEMBER_UID = 1000
COMPONENTS = ("ssh-access",)


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
    """Named directory connections."""

    ssh_access: LdapAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Sssd:
    """What sssd may still cache after a removal (S7, S12)."""

    entry_cache_timeout_seconds: int


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
    waivers: tuple[Waiver, ...] = field(default=())

    @property
    def laboratory(self) -> bool:
        """Accepts laboratory evidence and checkpoints, and says so loudly (X8)."""
        return self.kind == "laboratory"

    @property
    def recorded_inputs(self) -> dict[str, str]:
        """What an activation records and a later one compares (I4): interpreter, endpoints, identities."""
        access = self.ldap.ssh_access
        return {
            "site": self.site,
            "python": self.python,
            "site_api.url": self.site_api.url,
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
        raise _invalid(
            "its shape", "what profile.schema.json says", "Compare it with profiles/README.md."
        ) from error
    _check_origin(profile.site_api)
    _check_paths(profile)
    _check_names(profile)
    _check_directory(profile.ldap.ssh_access)
    if not FIRST_MEMBER_UID <= profile.uid_range.min <= profile.uid_range.max:
        _refuse("uid_range", f"{FIRST_MEMBER_UID} <= min <= max", "Give the members' range.")
    seen = [waiver.check for waiver in profile.waivers]
    if len(set(seen)) != len(seen):
        _refuse("waivers", "one waiver a check", "Remove the second one.")
    for waiver in profile.waivers:
        refuse_bad_waiver(waiver.check)
    profile.waivers_by_check()
    return profile


def _check_origin(site_api: SiteApi) -> None:
    try:
        parts = urlsplit(site_api.url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        port_ok, parts = False, urlsplit("")
    extra = (
        parts.path
        or parts.query
        or parts.fragment
        or parts.username is not None
        or parts.password is not None
    )
    if parts.scheme != "https" or not parts.hostname or extra or not port_ok or not site_api.url.isascii():
        _refuse(
            "site_api.url",
            "an HTTPS origin: https://HOST[:PORT], no path, no user",
            "Give the origin alone (I18).",
        )


def _check_paths(profile: Profile) -> None:
    socket = profile.ldap.ssh_access.socket
    if ":" in socket or not is_plain_path(socket):
        _refuse(
            "ldap.ssh_access.socket",
            "an absolute socket path, no URL (I8)",
            "Write /run/slapd/ldapi, for instance.",
        )
    if not is_plain_path(profile.python):
        _refuse(
            "python",
            "an absolute path without `..`",
            "Name the interpreter, for instance /usr/bin/python3.13.",
        )
    if profile.site_api.ca_file and not is_plain_path(profile.site_api.ca_file):
        _refuse("site_api.ca_file", "an absolute path, or empty", "Name the certificate file.")


def _check_names(profile: Profile) -> None:
    if profile.site == profile.name:
        _refuse(
            "site",
            "the environment's name at central, not this site's id (P32)",
            "Write slurm, for instance.",
        )
    unknown = sorted(set(profile.components) - set(COMPONENTS))
    if unknown or len(set(profile.components)) != len(profile.components):
        _refuse("components", f"each once, of {', '.join(COMPONENTS)}", "Correct the list.")


def _check_directory(access: LdapAccess) -> None:
    for name, value in (("identity", access.identity), ("people_base", access.people_base)):
        if "=" not in value or not value.isprintable():
            _refuse(
                f"ldap.ssh_access.{name}",
                "a distinguished name (RFC 4514)",
                "Write it as the directory does.",
            )
    first, separator, parent = access.probe_entry.partition(",")
    if not separator or "=" not in first or _plain(parent) != _plain(access.people_base):
        wanted = "an entry directly below people_base, made by the administrators (I9)"
        _refuse("ldap.ssh_access.probe_entry", wanted, "Ask them for it; no member's entry serves.")


def is_plain_path(text: str) -> bool:
    """An absolute, printable path without ``.`` and ``..`` parts and doubled slashes."""
    path = PurePosixPath(text)
    return (
        path.is_absolute()
        and str(path) == text
        and ".." not in path.parts
        and text.isprintable()
        and text != "/"
    )


def _plain(name: str) -> str:
    return ",".join(part.strip().casefold() for part in name.split(","))


def _refuse(where: str, wanted: str, remedy: str) -> NoReturn:
    raise _invalid(where, wanted, remedy)


def _invalid(where: str, wanted: str, remedy: str) -> Refusal:
    return Refusal(
        "profile_invalid",
        found=f"profile: {where} is not acceptable",
        wanted=wanted,
        remedy=remedy,
        exit_code=USAGE,
    )
