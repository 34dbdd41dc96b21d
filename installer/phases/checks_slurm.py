"""Checks of Slurm as a component's user meets it: accounting answers, version, cluster, account, coordinator,
store flags (I7, I9). Commands run as the component's user; each returns findings, none raises.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.profile_slurm import Slurm
from installer.domain.slurm import (
    FLOOR,
    SlurmUnreadable,
    is_on,
    is_safe,
    parse_rows,
    parse_settings,
    parse_version,
    words,
)
from installer.host.commands import CommandError, RunAs
from installer.host.context import Host

_DATABASE = "slurmdbd_version"
_ROWS = ("--noheader", "--parsable2", "--readonly")
Ask = Callable[..., str]


class Unanswered(Exception):
    """Why a command gave no answer; the text is for a finding."""


def asking(host: Host, slurm: Slurm, run_as: RunAs) -> Ask:
    """Asks one of Slurm's commands as that user; the answer's text. Raises Unanswered."""

    def ask(program: str, *arguments: str) -> str:
        return _ask(host, [f"{slurm.commands}/{program}", *arguments], run_as)

    return ask


def slurm_findings(host: Host, slurm: Slurm, component: str, user: str, run_as: RunAs) -> list[Finding]:
    """All checks of Slurm for ``user``; without accounting only the controller's are made."""
    found = _findings(asking(host, slurm, run_as), slurm, user)
    return [replace(finding, subject=component) for finding in found]


def _findings(ask: Ask, slurm: Slurm, user: str) -> list[Finding]:
    findings = [_store_flags(ask)]
    wanted = "slurmdbd's settings, as the component asks for them"
    remedy = "Start slurmdbd, and let this host's commands reach it (munge, port); see the words of sacctmgr."
    try:
        settings = _database_settings(ask)
    except (Unanswered, SlurmUnreadable) as error:
        return [*findings, unknown("slurm.accounting", str(error), wanted, remedy)]
    found = f"slurmdbd {settings[_DATABASE]} at {settings.get('dbdhost', '?')} answers"
    findings.append(passed("slurm.accounting", found, wanted))
    findings.append(_version(ask, settings))
    findings.append(_coordinator_writes(settings))
    findings.append(_cluster(ask, slurm))
    findings.append(_account(ask, slurm))
    findings.append(_coordinator(ask, slurm, user))
    return findings


def _ask(host: Host, argv: Sequence[str], run_as: RunAs) -> str:
    try:
        done = host.run(argv, timeout=host.limits.command_seconds, run_as=run_as)
    except CommandError as error:
        raise Unanswered(str(error)) from error
    if done.code != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Unanswered(f"{argv[0]} exits {done.code}: {(said or ['no word'])[0][:200]}")
    return done.stdout


def _database_settings(ask: Ask) -> Mapping[str, str]:
    """slurmdbd's settings. Without it sacctmgr ends with 0 and tells those of its own host alone."""
    settings = parse_settings(ask("sacctmgr", "--readonly", "show", "configuration"))
    if not settings.get(_DATABASE):
        raise Unanswered("sacctmgr tells this host's settings and none of slurmdbd's: it does not answer")
    return settings


def _version(ask: Ask, settings: Mapping[str, str]) -> Finding:
    """Both ends: slurmdbd decides what a coordinator may do, the commands speak to it (CVE-2025-43904)."""
    wanted = f"{FLOOR}, in slurmdbd and the commands (CVE-2025-43904)"
    remedy = "Update Slurm: before these releases a coordinator can make itself an administrator."
    try:
        database = parse_version(settings[_DATABASE])
        commands = parse_version(ask("scontrol", "--version"))
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("slurm.version", str(error), wanted, remedy)
    found = f"slurmdbd {_text(database)}, commands {_text(commands)}"
    if is_safe(database) and is_safe(commands):
        return passed("slurm.version", found, wanted)
    return failed("slurm.version", found, wanted, remedy)


def _text(version: tuple[int, int, int]) -> str:
    return f"{version[0]}.{version[1]:02}.{version[2]}"


def _coordinator_writes(settings: Mapping[str, str]) -> Finding:
    """Two settings of slurmdbd.conf(5) take a coordinator's rights away (the second one in 24.11)."""
    wanted = "DisableCoordDBD = no, AllowNoDefAcct = no"
    remedy = "Take the setting out of slurmdbd.conf: with it a coordinator may write nothing."
    missing = [name for name in ("DisableCoordDBD", "AllowNoDefAcct") if name.casefold() not in settings]
    if missing:
        return unknown("slurm.coordinator-writes", f"{', '.join(missing)} is not told", wanted, remedy)
    on = [
        f"{name} = yes" for name in ("DisableCoordDBD", "AllowNoDefAcct") if is_on(settings[name.casefold()])
    ]
    if on:
        return failed("slurm.coordinator-writes", ", ".join(on), wanted, remedy)
    return passed("slurm.coordinator-writes", "both are off", wanted)


def _store_flags(ask: Ask) -> Finding:
    """With job_env every coordinator could read members' environments, tokens in them (I9)."""
    wanted = "AccountingStoreFlags without job_env"
    remedy = (
        "Take job_env out of slurm.conf: it shows members' environments to every coordinator."
        " What is stored already stays until it is purged."
    )
    try:
        settings = parse_settings(ask("scontrol", "show", "config"))
        flags = settings["accountingstoreflags"]
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("slurm.store-flags", str(error), wanted, "Start slurmctld, then run the phase again.")
    except KeyError:
        return unknown("slurm.store-flags", "AccountingStoreFlags is not told", wanted, remedy)
    found = f"AccountingStoreFlags = {flags or '(null)'}"
    if "job_env" in words(flags):
        return failed("slurm.store-flags", found, wanted, remedy)
    return passed("slurm.store-flags", found, wanted)


def _cluster(ask: Ask, slurm: Slurm) -> Finding:
    wanted = f"the cluster {slurm.cluster}"
    remedy = "Correct slurm.cluster in the profile, or add the cluster to accounting."
    try:
        rows = parse_rows(ask("sacctmgr", *_ROWS, "show", "cluster", "format=cluster"), 1)
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("slurm.cluster", str(error), wanted, remedy)
    found = f"clusters {', '.join(row[0] for row in rows) or 'none'}"
    if any(row[0].casefold() == slurm.cluster.casefold() for row in rows):
        return passed("slurm.cluster", found, wanted)
    return failed("slurm.cluster", found, wanted, remedy)


def _account(ask: Ask, slurm: Slurm) -> Finding:
    """The account's own association on this cluster: the row without a user (W29)."""
    wanted = f"the account {slurm.parent_account} on {slurm.cluster}"
    remedy = f"sacctmgr add account {slurm.parent_account} cluster={slurm.cluster}, or correct the profile."
    query = [f"account={slurm.parent_account}", f"cluster={slurm.cluster}"]
    try:
        text = ask("sacctmgr", *_ROWS, "show", "association", *query, "format=account,user")
        rows = parse_rows(text, 2)
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("slurm.account", str(error), wanted, remedy)
    account = slurm.parent_account.casefold()
    if any(row[0].casefold() == account and not row[1] for row in rows):
        return passed("slurm.account", f"it is there, with {len(rows) - 1} users", wanted)
    return failed("slurm.account", "no such account on this cluster", wanted, remedy)


def _coordinator(ask: Ask, slurm: Slurm, user: str) -> Finding:
    """Coordinator of the parent account, and nothing above that (I7)."""
    wanted = f"{user}: coordinator of {slurm.parent_account}, AdminLevel None"
    add = f"sacctmgr add coordinator account={slurm.parent_account} names={user}"
    remedy = f"{add} (after adding the user with maxsubmitjobs=0); docs/policy/slurm.md says it all."
    try:
        text = ask(
            "sacctmgr", *_ROWS, "show", "user", user, "withcoord", "format=user,adminlevel,coordinators"
        )
        rows = parse_rows(text, 3)
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("slurm.coordinator", str(error), wanted, remedy)
    own = [row for row in rows if row[0].casefold() == user.casefold()]
    if not own:
        return failed("slurm.coordinator", f"accounting knows no user {user}", wanted, remedy)
    levels, accounts = {row[1] for row in own}, words(",".join(row[2] for row in own))
    if levels != {"None"}:
        take = f"sacctmgr modify user {user} set adminlevel=None"
        found = f"{user} has AdminLevel {', '.join(sorted(levels))}"
        return failed("slurm.coordinator", found, wanted, f"Too much: {take} (I7).")
    found = f"{user}: coordinator of {', '.join(sorted(accounts)) or 'nothing'}, AdminLevel None"
    if slurm.parent_account.casefold() in accounts:
        return passed("slurm.coordinator", found, wanted)
    return failed("slurm.coordinator", found, wanted, remedy)
