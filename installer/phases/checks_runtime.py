"""Checks the runtime needs besides accounting: members' tokens, partitions, the staging side, submission
(I9, S1, S2). Each returns findings, none raises.
"""

import re
from collections.abc import Mapping

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import RUNTIME
from installer.domain.profile_runtime import RuntimeProfile, Staging
from installer.domain.refusal import Refusal
from installer.domain.slurm import SlurmUnreadable, parse_settings, words
from installer.domain.slurm_runtime import parse_parameters, parse_partitions, parse_seconds
from installer.host.commands import CommandError, RunAs
from installer.host.context import Host
from installer.host.https import Answer, get
from installer.host.identities import Identity
from installer.host.site_inputs import Site, read_authority_file
from installer.host.submission_probe import Submissions, ask_submission
from installer.phases.checks_scratch import members_findings
from installer.phases.checks_slurm import Ask, Unanswered, asking, slurm_findings

Partitions = Mapping[str, Mapping[str, str]]
# Of slurmd, not of slurmctld: `slurm_slurmd_info: …`, `slurm_load_slurmd_status: …`.
_NO_SLURMD = re.compile(r"slurmd\w*: Connection refused")
_NODE = re.compile(r"^Hostname\s*=\s*(\S+)$", re.MULTILINE)
_ASK = "Start slurmctld, then run the phase again."
_ASK_NODE = "Start slurmctld, and slurmd if this host has one, then run the phase again."


def runtime_findings(host: Host, site: Site, user: str, identity: Identity) -> list[Finding]:
    """All of them, asked as the component's user."""
    profile = site.profile.for_runtime
    ask = asking(host, profile.slurm, identity.run_as)
    return [
        *slurm_findings(host, profile.slurm, RUNTIME, user, identity.run_as),
        jwt_finding(ask, profile),
        *partition_findings(ask, profile),
        *reach_findings(host, ask, profile),
        tools_finding(host, ask, profile.section.staging, identity.run_as),
        submission_finding(host, profile, identity.run_as),
        *members_findings(host, profile.section, identity),
    ]


def jwt_finding(ask: Ask, profile: RuntimeProfile) -> Finding:
    """The controller takes the issuer's tokens and finds the user in the profile's claim (S2)."""
    claim = profile.section.member_tokens.user_claim
    wanted = f"AuthAltTypes=auth/jwt, AuthAltParameters with jwks=… and userclaimfield={claim}"
    remedy = "Set both in slurm.conf and restart slurmctld; docs/policy/slurm.md has the lines."
    try:
        settings = parse_settings(ask("scontrol", "show", "config"))
        types, told = settings["authalttypes"], settings["authaltparameters"]
    except (Unanswered, SlurmUnreadable) as error:
        return unknown("runtime.jwt", str(error), wanted, _ASK, subject=RUNTIME)
    except KeyError as error:
        return unknown("runtime.jwt", f"{error.args[0]} is not told", wanted, remedy, subject=RUNTIME)
    parameters = parse_parameters(told)
    if "auth/jwt" not in words(types):
        found = f"AuthAltTypes = {types or '(null)'}"
        return failed("runtime.jwt", found, wanted, remedy, subject=RUNTIME)
    if not parameters.get("jwks"):
        found = "AuthAltParameters names no jwks: only keys of the controller's own are taken"
        return failed("runtime.jwt", found, wanted, remedy, subject=RUNTIME)
    # Without the parameter Slurm reads the claim `sun` (slurm.conf(5)).
    read = parameters.get("userclaimfield", "sun")
    if read != claim:
        found = f"Slurm takes the user from the claim {read}"
        return failed("runtime.jwt", found, wanted, remedy, subject=RUNTIME)
    return passed("runtime.jwt", f"auth/jwt, user from {read}", wanted, subject=RUNTIME)


def partition_findings(ask: Ask, profile: RuntimeProfile) -> list[Finding]:
    """Staging and compute as the profile says, and who answers for the staging nodes' Internet (I9)."""
    section = profile.section
    limits = {
        section.staging.partition: section.staging.max_time_seconds,
        section.compute.partition: section.compute.max_time_seconds,
    }
    try:
        known = parse_partitions(ask("scontrol", "--all", "--oneliner", "show", "partition"))
    except (Unanswered, SlurmUnreadable) as error:
        wanted = f"the partitions {', '.join(limits)}"
        return [unknown("runtime.partition", str(error), wanted, _ASK, subject=name) for name in limits]
    group = section.members_group.name
    found = [_partition(known, name, seconds, group) for name, seconds in limits.items()]
    return [*found, _internet(known, section.staging)]


def _partition(known: Partitions, name: str, seconds: int, group: str) -> Finding:
    limit = f"{seconds} s" if seconds else "UNLIMITED"
    wanted = f"partition {name}: State=UP, MaxTime {limit}, AllowAccounts=ALL, AllowGroups=ALL or {group}"
    fields = known.get(name)
    if fields is None:
        found = f"no such partition; there are {', '.join(sorted(known)) or 'none'}"
        remedy = "Correct the partition's name in the profile, or have it made."
        return failed("runtime.partition", found, wanted, remedy, subject=name)
    missing = [key for key in ("state", "maxtime", "allowaccounts", "allowgroups") if key not in fields]
    try:
        told = parse_seconds(fields.get("maxtime", ""))
    except SlurmUnreadable as error:
        found = f"{', '.join(missing)} is not told" if missing else f"MaxTime: {error}"
        return unknown("runtime.partition", found, wanted, _ASK, subject=name)
    if missing:
        return unknown("runtime.partition", f"{', '.join(missing)} is not told", wanted, _ASK, subject=name)
    wrong = [] if fields["state"] == "UP" else [f"State={fields['state']}"]
    wrong += [] if told == seconds else [f"MaxTime={fields['maxtime']} ({told} s)"]
    wrong += [] if fields["allowaccounts"] == "ALL" else [f"AllowAccounts={fields['allowaccounts']}"]
    # Names of groups are as they are; `words` would fold their case.
    allowed = fields["allowgroups"].split(",")
    wrong += [] if {"ALL", group} & set(allowed) else [f"AllowGroups={fields['allowgroups']}"]
    if not wrong:
        return passed("runtime.partition", f"State=UP, MaxTime={fields['maxtime']}", wanted, subject=name)
    remedy = (
        "Correct slurm.conf, or the profile where it says otherwise: a job beyond MaxTime waits for ever."
    )
    return failed("runtime.partition", ", ".join(wrong), wanted, remedy, subject=name)


def _internet(known: Partitions, staging: Staging) -> Finding:
    """Egress cannot be tried from here: the site's own word has to cover exactly today's nodes (I9)."""
    said = staging.internet
    wanted = f"{said.by} said on {said.date} that the nodes of {staging.partition} reach the Git hosts"
    nodes = known.get(staging.partition, {}).get("nodes", "")
    check, subject = "runtime.staging-internet", staging.partition
    if not nodes or nodes == "(null)":
        remedy = "Give the partition nodes, or correct its name in the profile."
        return unknown(check, "the partition has no node", wanted, remedy, subject=subject)
    if nodes == said.nodes:
        return passed(check, f"nodes {nodes}, as {said.by} said on {said.date}", wanted, subject=subject)
    found = f"the partition has {nodes}, said was {said.nodes}"
    remedy = "Have the network's administrators say it for these nodes, and write nodes, by and date anew."
    return failed(check, found, wanted, remedy, subject=subject)


def reach_findings(host: Host, ask: Ask, profile: RuntimeProfile) -> list[Finding]:
    """Each Git host over verified TLS, tried only where this host is itself a staging node (I9)."""
    section, check = profile.section, "runtime.repository"
    wanted = "each Git host over verified TLS, from the staging nodes"
    try:
        here = _is_node(ask, section.staging.partition)
    except Unanswered as error:
        found = f"whether this host is a staging node is not known: {error}"
        return [unknown(check, found, wanted, _ASK_NODE, subject=section.staging.partition)]
    if not here:
        found = "not tried: this host is no staging node, runtime.staging-internet is all that is known"
        return [passed(check, found, wanted, subject=section.staging.partition)]
    remedy = "Check the name, its certificate authority (runtime.repository.ca_file) and the route to it."
    where = "runtime.repository.ca_file"
    try:
        authority = read_authority_file(host.paths, section.repository.ca_file, where, host.limits)
    except Refusal as refusal:
        return [failed(check, refusal.found, wanted, refusal.remedy, subject=where)]
    return [_reached(host, name, authority, wanted, remedy) for name in section.repository.hosts]


def _reached(host: Host, name: str, authority: bytes | None, wanted: str, remedy: str) -> Finding:
    """Any answer of HTTP is one: a Git host may answer its root as it likes."""
    check, limits = "runtime.repository", host.limits
    answer = get(f"https://{name}/", authority, {}, timeout=limits.probe_seconds, limit=limits.answer_size)
    if isinstance(answer, Answer):
        return passed(check, f"it answers (HTTP {answer.status})", wanted, subject=name)
    if answer.answered:
        return passed(check, "it answers", wanted, subject=name)
    make = failed if answer.definite else unknown
    return make(check, answer.why, wanted, remedy, subject=name)


def tools_finding(host: Host, ask: Ask, staging: Staging, run_as: RunAs) -> Finding:
    """git and git-lfs where a stage will want them. An unprivileged user sees this host alone; whether it is
    one of the partition's nodes, its own slurmd says. A stage on a node without them fails and says so.
    """
    check, wanted = "runtime.staging-tools", "git and git-lfs on every node of the staging partition"
    try:
        here = _is_node(ask, staging.partition)
    except Unanswered as error:
        found = f"whether this host is a staging node is not known: {error}"
        return unknown(check, found, wanted, _ASK_NODE, subject=staging.partition)
    tools = {name: _version(host, name, run_as) for name in ("git", "git-lfs")}
    missing = [name for name, version in tools.items() if not version]
    seen = "on this host, a staging node" if here else "on this host, which is no staging node itself"
    if not missing:
        found = f"{seen}: {', '.join(tools.values())}"
        return passed(check, found, wanted, subject=staging.partition)
    found, remedy = f"{seen}: no {', no '.join(missing)}", "Install them on the partition's nodes."
    if here:
        return failed(check, found, wanted, remedy, subject=staging.partition)
    remedy = f"Look on a staging node: srun -p {staging.partition} git lfs version."
    return Finding(
        check=check, status="warn", found=found, wanted=wanted, remedy=remedy, subject=staging.partition
    )


def _is_node(ask: Ask, partition: str) -> bool:
    """Whether this host's slurmd serves the partition; a host without one does not, and that is proven by a
    refused connection alone. Raises Unanswered when slurmd or slurmctld says nothing of it (X1).
    """
    try:
        told = ask("scontrol", "show", "slurmd")
    except Unanswered as error:
        if _NO_SLURMD.search(str(error)):
            return False
        raise
    own = _NODE.search(told)
    if own is None:
        raise Unanswered("scontrol show slurmd tells no Hostname")
    fields = ask("scontrol", "--oneliner", "show", "node", own[1])
    if not fields.startswith("NodeName="):
        raise Unanswered("scontrol show node tells no node")
    served = next((word for word in fields.split() if word.startswith("Partitions=")), "")
    return partition in served.removeprefix("Partitions=").split(",")


def _version(host: Host, program: str, run_as: RunAs) -> str:
    """Its first line of ``--version``; empty when it cannot be run."""
    try:
        done = host.run([program, "--version"], timeout=host.limits.command_seconds, run_as=run_as)
    except CommandError:
        return ""
    lines = done.stdout.strip().splitlines()
    return lines[0].partition(" (")[0][:60] if done.code == 0 and lines else ""


def submission_finding(host: Host, profile: RuntimeProfile, run_as: RunAs) -> Finding:
    """The one way of submitting that the runtime has keeps the token out; without it nothing runs (S2)."""
    check, wanted = "runtime.submission", "sbatch --export-file=FD sends the job's environment and no token"
    remedy = "Update Slurm's commands on this host; no other way of sbatch keeps the token out of the job."
    sbatch = f"{profile.slurm.commands}/sbatch"
    answer = ask_submission(host.run, sbatch, run_as=run_as, timeout=host.limits.probe_seconds)
    if isinstance(answer, str):
        return unknown(check, answer, wanted, remedy, subject=RUNTIME)
    safe = answer.safe
    if safe.token:
        return failed(check, "it sends SLURM_JWT in the job's environment", wanted, remedy, subject=RUNTIME)
    if safe.heard and safe.environment:
        return passed(check, _told(answer), wanted, subject=RUNTIME)
    if "unrecognized option" in safe.words:
        return failed(check, f"sbatch: {safe.words}", wanted, remedy, subject=RUNTIME)
    found = f"sbatch sent {'no environment' if safe.heard else 'nothing'}: {safe.words}"
    return unknown(check, found, wanted, remedy, subject=RUNTIME)


def _told(answer: Submissions) -> str:
    usual = "the usual --export sends it" if answer.usual.token else "nor does the usual --export"
    return f"the token stays out of the job ({usual}); a stand-in for the controller listened"
