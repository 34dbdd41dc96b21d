"""Checks of the host alone: rights, machine, interpreter, room, identities. Each returns findings, none
raises.
"""

import os
import platform
from pathlib import Path

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.limits import Limits
from installer.domain.manifest import Manifest
from installer.domain.profile import Profile
from installer.domain.refusal import Refusal
from installer.domain.times import format_time, parse_time
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.identities import Identity, local_identity
from installer.host.interpreter import ask_interpreter
from installer.host.resources import executable, room, writable

_LOGINLESS = frozenset({"/usr/sbin/nologin", "/sbin/nologin", "/bin/false", "/usr/bin/false"})
_POWERFUL = frozenset(
    {"root", "sudo", "wheel", "admin", "adm", "disk", "shadow", "docker", "lxd", "kvm", "systemd-journal"}
)


def host_findings(host: Host, profile: Profile, manifest: Manifest) -> list[Finding]:
    """Everything that can be known of the host before anything is written."""
    return [
        _root(),
        *_machine(host, profile, manifest),
        _systemd(host),
        _clock(host, manifest),
        release_finding(profile, manifest),
        *_room(host),
    ]


def identity_findings(
    host: Host, profile: Profile, users: dict[str, str], *, must_exist: bool
) -> list[Finding]:
    """Component identities (component → user): unprivileged, distinct, outside the members' range (I7)."""
    findings: list[Finding] = []
    seen: dict[int, str] = {}
    for component, user in users.items():
        wanted = f"{user}: a local system user without login, root's id or an administrators' group"
        try:
            identity = local_identity(host.paths, user)
        except Refusal as refusal:
            remedy = refusal.remedy
            findings.append(
                unknown("identity.unprivileged", refusal.found, wanted, remedy, subject=component)
            )
            continue
        if identity is None:
            if must_exist:
                remedy = "Run `install`, which makes it with systemd-sysusers."
                findings.append(
                    failed("identity.unprivileged", f"no user {user}", wanted, remedy, subject=component)
                )
            else:
                found = f"no user {user} yet; `install` makes it"
                findings.append(passed("identity.unprivileged", found, wanted, subject=component))
            continue
        findings.append(_unprivileged(host, identity, wanted, component))
        findings.append(_distinct(profile, identity, seen, component))
        seen[identity.uid] = user
    return findings


def _root() -> Finding:
    wanted = "the user root of the host itself"
    remedy = "Run it as root (sudo), not in a user namespace."
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123
            mapping = file.read().split()
    except OSError as error:
        return unknown("host.root", f"/proc/self/uid_map: {error.strerror}", wanted, remedy)
    if os.geteuid() != 0:
        return failed("host.root", f"user id {os.geteuid()}", wanted, remedy)
    if mapping[:2] != ["0", "0"]:
        return failed("host.root", "root of a user namespace", wanted, remedy)
    return passed("host.root", "root", wanted)


def _machine(host: Host, profile: Profile, manifest: Manifest) -> list[Finding]:
    findings: list[Finding] = []
    machine, wanted = (
        platform.machine(),
        f"{manifest.architecture} (release) and {profile.architecture} (profile)",
    )
    if machine == manifest.architecture == profile.architecture:
        findings.append(passed("host.architecture", machine, wanted))
    else:
        findings.append(
            failed("host.architecture", machine, wanted, "Use a host of the release's architecture.")
        )
    wanted = f"CPython {manifest.python} of the host's own, at {profile.python}"
    facts = ask_interpreter(host.run, host.paths.at(profile.python), timeout=host.limits.command_seconds)
    if isinstance(facts, str):
        remedy = f"Install Python {manifest.python}, or correct `python` in the profile."
        findings.append(failed("python.interpreter", facts, wanted, remedy))
        findings.append(
            unknown("host.libc", "no interpreter to ask", f"glibc {manifest.glibc} or newer", remedy)
        )
        return findings
    fault = facts.fault(manifest.python)
    if fault is None:
        findings.append(passed("python.interpreter", f"{profile.python} is {facts.full}", wanted))
    else:
        remedy = (
            f"Name the host's own CPython {manifest.python} in the profile; the archive never replaces it."
        )
        findings.append(failed("python.interpreter", f"{profile.python}: {fault}", wanted, remedy))
    findings.append(_libc(facts.libc, manifest))
    return findings


def _libc(found: str, manifest: Manifest) -> Finding:
    wanted = f"glibc {manifest.glibc} or newer"
    name, _, version = found.partition(" ")
    try:
        enough = name == "glibc" and _version(version) >= _version(manifest.glibc)
    except ValueError:
        enough = False
    if enough:
        return passed("host.libc", found, wanted)
    return failed("host.libc", found or "no glibc", wanted, "Use a host with a newer glibc.")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _systemd(host: Host) -> Finding:
    wanted = "systemd running as the init system"
    if host.services.running():
        return passed("host.systemd", "systemd answers", wanted)
    remedy = "Installing is possible, activating is not, until systemd runs the host."
    return Finding(
        check="host.systemd", status="warn", found="systemd does not answer", wanted=wanted, remedy=remedy
    )


def _clock(host: Host, manifest: Manifest) -> Finding:
    now, built = host.clock.now(), parse_time(manifest.built_at, what="builtAt")
    wanted = f"not before {manifest.built_at}, when the release's revision was made"
    early = (built - now).total_seconds()
    if early <= host.limits.clock_skew_seconds:
        return passed("host.clock", format_time(now), wanted)
    return failed("host.clock", format_time(now), wanted, "Set the clock (timedatectl), then run again.")


def release_finding(profile: Profile, manifest: Manifest) -> Finding:
    """Whether the profile accepts the release: components, a reviewed revision, the dependency mode (I4)."""
    wanted = f"a release with {', '.join(profile.components)}, made from a reviewed revision"
    missing = [name for name in profile.components if name not in manifest.components]
    if missing:
        return failed(
            "release.profile", f"no component {', '.join(missing)}", wanted, "Use another release or profile."
        )
    if manifest.dirty and not profile.laboratory:
        remedy = "Use a released archive; this one was made from an unreviewed tree."
        return failed("release.profile", f"version {manifest.version} of a dirty tree", wanted, remedy)
    mode = profile.dependencies.mode
    if manifest.dependency_mode != mode:
        found, wanted = f"a release of dependency mode {manifest.dependency_mode}", f"one of mode {mode}"
        remedy = "Use the other archive of this version, or correct the profile's dependencies section."
        return failed("release.profile", found, wanted, remedy)
    return passed("release.profile", f"version {manifest.version}, revision {manifest.revision[:12]}", wanted)


def _room(host: Host) -> list[Finding]:
    limits: Limits = host.limits
    places = (
        (host.paths.releases, limits.release_bytes, limits.release_inodes),
        *_switch_places(host),
    )
    return [finding for place in places for finding in _place(*place)] + _executable(host)


def switch_room_findings(host: Host) -> list[Finding]:
    """Room and rights where a switch writes, looked at before anything is stopped (rows 9, 11)."""
    return [finding for place in _switch_places(host) for finding in _place(*place)]


def _switch_places(host: Host) -> list[tuple[Path, int, int]]:
    """Folder, bytes and inodes of everything ``activate`` and ``rollback`` write."""
    small = 1024 * 1024
    return [
        (host.paths.memory, host.limits.state_bytes, 64),
        (host.paths.components, small, 16),
        (host.paths.at("/etc/systemd/system"), small, 8),
        (host.paths.at("/etc/pharos-hpc"), small, 8),
    ]


def _place(path: Path, need_bytes: int, need_inodes: int) -> list[Finding]:
    subject = str(path)
    try:
        found = room(path)
    except OSError as error:
        remedy = "Repair the mount."
        return [unknown("disk.space", str(error.strerror), "a readable file system", remedy, subject=subject)]
    findings: list[Finding] = []
    wanted = f"{need_bytes // 1024 // 1024} MiB free on {found.mount}"
    text = f"{found.free_bytes // 1024 // 1024} MiB free"
    if found.free_bytes >= need_bytes:
        findings.append(passed("disk.space", text, wanted, subject=subject))
    else:
        findings.append(failed("disk.space", text, wanted, f"Free space on {found.mount}.", subject=subject))
    if found.free_inodes is not None and found.free_inodes < need_inodes:
        text, wanted = f"{found.free_inodes} inodes free", f"{need_inodes} on {found.mount}"
        findings.append(
            failed("disk.inodes", text, wanted, f"Free inodes on {found.mount}.", subject=subject)
        )
    fault = writable(found.place)
    if fault is not None:
        remedy = f"Mount {found.mount} read-write."
        findings.append(failed("disk.writable", fault, "to make files there", remedy, subject=subject))
    return findings


def _executable(host: Host) -> list[Finding]:
    try:
        found = room(host.paths.releases)
    except OSError:
        return []
    fault = executable(host.run, found.place)
    wanted = "to run programs from the release folder"
    if fault is None:
        return [passed("disk.exec", f"a program ran in {found.place}", wanted)]
    return [failed("disk.exec", fault, wanted, f"Remount {found.mount} without noexec (H14).")]


def _unprivileged(host: Host, identity: Identity, wanted: str, component: str) -> Finding:
    faults: list[str] = []
    if identity.uid == 0 or identity.gid == 0:
        faults.append("it is root")
    if identity.shell not in _LOGINLESS:
        faults.append(f"its shell is {identity.shell}")
    powerful = sorted(_POWERFUL.intersection(identity.groups))
    if powerful:
        faults.append(f"it is in group {', '.join(powerful)}")
    if not faults and _may_sudo(host, identity.name):
        faults.append("sudo lets it run commands")
    found = f"{identity.name} ({identity.uid}): {'; '.join(faults) or 'no login, no power'}"
    if not faults:
        return passed("identity.unprivileged", found, wanted, subject=component)
    return failed("identity.unprivileged", found, wanted, "Take these rights away (I7).", subject=component)


def _distinct(profile: Profile, identity: Identity, seen: dict[int, str], component: str) -> Finding:
    low, high = profile.uid_range.min, profile.uid_range.max
    wanted = f"a user id of its own, outside the members' {low} to {high}"
    found = f"{identity.name} is {identity.uid}"
    if identity.uid in seen or low <= identity.uid <= high:
        if identity.uid in seen:
            found += f", as is {seen[identity.uid]}"
        remedy = "Give it another user id."
        return failed("identity.distinct", found, wanted, remedy, subject=component)
    return passed("identity.distinct", found, wanted, subject=component)


def _may_sudo(host: Host, user: str) -> bool:
    """Whether sudo, where there is one, lets the user run anything at all (exit code of ``sudo -l
    COMMAND``).
    """
    try:
        done = host.run(["sudo", "-n", "-U", user, "-l", "/bin/true"], timeout=host.limits.command_seconds)
    except CommandError:
        return False
    return done.code == 0
