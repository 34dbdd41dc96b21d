"""Checks of the members' group and of scratch: recorded approval, modes, and the right itself, by making a
file (S4).
"""

from dataclasses import replace

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import RUNTIME
from installer.domain.profile_runtime import Runtime
from installer.host.commands import CommandError, RunAs
from installer.host.context import Host
from installer.host.identities import Identity
from installer.host.scratch_probe import Scratch, try_scratch

_GROUP_FIELDS = 4
_SCRATCH, _GRANTS, _FILE = 0o3770, 0o2710, 0o750
_FOLDER = "directory"


def members_findings(host: Host, section: Runtime, identity: Identity) -> list[Finding]:
    """The group first; without its number nothing can be tried with it."""
    gid = _group_id(host, section.members_group.name, identity.run_as)
    group = _group_finding(section, gid)
    if not isinstance(gid, int):
        remedy = "See runtime.members-group first."
        found = "not tried: the members' group is not known"
        return [group, unknown("runtime.scratch", found, _wanted(section), remedy, subject=section.scratch)]
    groups = (gid,) if section.supplementary_group else ()
    return [group, scratch_finding(host, section, identity, gid, groups)]


def _group_id(host: Host, name: str, run_as: RunAs) -> int | str | None:
    """Its number; None: no such group (getent(1) ends with 2); text: why it is not known."""
    try:
        done = host.run(["getent", "group", name], timeout=host.limits.command_seconds, run_as=run_as)
    except CommandError as error:
        return str(error)
    if done.code == 2:
        return None
    fields = done.stdout.strip().split(":")
    if done.code != 0 or len(fields) != _GROUP_FIELDS or not fields[2].isdecimal():
        return f"getent exits {done.code} with another form"
    return int(fields[2])


def _group_finding(section: Runtime, gid: int | str | None) -> Finding:
    check, group = "runtime.members-group", section.members_group
    wanted = f"the group {group.name}, and the administrators' approval that the unit has it"
    if gid is None:
        remedy = "Correct runtime.members_group.name, or look why names do not resolve (sssd)."
        return failed(check, f"no group {group.name}", wanted, remedy, subject=RUNTIME)
    if isinstance(gid, str):
        return unknown(check, gid, wanted, "Look at the name service (sssd, nsswitch.conf).", subject=RUNTIME)
    if group.approved is None:
        remedy = "Record who approved it and when: runtime.members_group.approved: {by: …, date: …}."
        return failed(check, "the profile records no approval", wanted, remedy, subject=RUNTIME)
    found = f"gid {gid}, approved by {group.approved.by} on {group.approved.date}"
    return passed(check, found, wanted, subject=RUNTIME)


def scratch_finding(
    host: Host, section: Runtime, identity: Identity, gid: int, groups: tuple[int, ...]
) -> Finding:
    """The folders' modes and owners, and what the user can make there."""
    wanted = _wanted(section)
    seen = try_scratch(
        host.run,
        str(host.paths.at(section.scratch)),
        str(host.paths.at(section.grants_root)),
        run_as=replace(identity.run_as, groups=groups),
        timeout=host.limits.command_seconds,
    )
    remedy = (
        f"install -d -m 3770 -o root -g {section.members_group.name} {section.scratch}; install -d -m 2710"
        f" -o {identity.name} -g {section.members_group.name} {section.grants_root}"
    )
    if isinstance(seen, str):
        remedy += " (if they are there: does the unit's user reach them? The group must be approved)"
        return failed("runtime.scratch", seen, wanted, remedy, subject=section.scratch)
    wrong = _wrong_folders(seen, identity.uid, gid)
    if wrong:
        return failed("runtime.scratch", "; ".join(wrong), wanted, remedy, subject=section.scratch)
    if seen.made is None:
        remedy = "Look at quota, read-only mounts, root squashing and the approval of the group."
        found = f"{identity.name} cannot make a folder there: {seen.words}"
        return failed("runtime.scratch", found, wanted, remedy, subject=section.scratch)
    if seen.made != ((_GRANTS, gid), (_FILE, gid)):
        (folder, group), _ = seen.made
        remedy = "Approve the group in the profile; the file system has to hand a folder's group down."
        found = f"what {identity.name} makes there is {folder:04o} of gid {group}"
        return failed("runtime.scratch", found, wanted, remedy, subject=section.scratch)
    if not seen.runs:
        remedy = (
            "Mount it without noexec on this host and on the staging nodes: Git runs the helper from there."
        )
        return failed(
            "runtime.scratch", "a program there does not run", wanted, remedy, subject=section.scratch
        )
    found = f"{identity.name} made a folder and a program there, in gid {gid}, and took them away"
    return passed("runtime.scratch", found, wanted, subject=section.scratch)


def _wanted(section: Runtime) -> str:
    group = section.members_group.name
    return (
        f"{section.scratch} 3770 root:{group}, in it .runtime 2710 of the runtime's user and {group},"
        " and its user able to make files there"
    )


def _wrong_folders(seen: Scratch, uid: int, gid: int) -> list[str]:
    above, own = seen.scratch, seen.grants
    wrong = []
    if (above.mode, above.uid, above.gid, above.kind) != (_SCRATCH, 0, gid, _FOLDER):
        wrong.append(f"scratch is a {above}")
    if (own.mode, own.uid, own.gid, own.kind) != (_GRANTS, uid, gid, _FOLDER):
        wrong.append(f".runtime is a {own}")
    return wrong
