"""The named checks of preflight, validate and activate: severity, found / wanted / remedy, and what may be
waived (I20).

1. Every check has one stable id; all checks of a phase run before the phase refuses.
2. ``unknown`` (could not be read) counts as failed for a check of severity error (X1).
3. A waiver turns one failed check into ``waived``, recorded with reason and expiry; an expired one changes
   nothing.
4. Checks that guard I4, I5, I7, I8, I12, I15 or I16 are never waivable, and there is no word for "all".
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from installer.domain.refusal import PREFLIGHT_REFUSED, UNSUPPORTED_HOST, USAGE, Refusal

NEVER_WAIVABLE = frozenset({"I4", "I5", "I7", "I8", "I12", "I15", "I16"})
Severity = Literal["error", "warning"]
Status = Literal["pass", "warn", "fail", "unknown", "waived"]


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check as documentation and rule."""

    id: str
    title: str
    guards: tuple[str, ...]
    """Ledger ids."""
    severity: Severity = "error"
    unsupported: bool = False
    """Failing means that this host can never run the release: exit 10 instead of 3."""

    @property
    def waivable(self) -> bool:
        """Whether I20 allows a waiver."""
        return NEVER_WAIVABLE.isdisjoint(self.guards)


_SPECS = (
    CheckSpec("host.root", "runs as the host's root", ("I1",)),
    CheckSpec("host.architecture", "processor architecture is the release's", ("I5",), unsupported=True),
    CheckSpec("host.libc", "glibc is new enough for the wheels", ("I5",), unsupported=True),
    CheckSpec("host.systemd", "systemd is the running init system", ("I10",)),
    CheckSpec("host.clock", "clock is not before the release's build time", ("X2",)),
    CheckSpec("python.interpreter", "the profile's Python runs and is the release's version", ("I4", "I6")),
    CheckSpec("release.profile", "the profile accepts this release", ("I4",)),
    CheckSpec("disk.space", "free space for one more release", ("I11",)),
    CheckSpec("disk.inodes", "free inodes for one more release", ("I11",)),
    CheckSpec("disk.writable", "folders of the installer can be written", ("I11",)),
    CheckSpec("disk.exec", "programs may run from the release folder", ("I11",)),
    CheckSpec("credentials.private", "credential files are there, root's alone", ("I3", "I7")),
    CheckSpec(
        "identity.unprivileged", "component identities have no login, root or administrators' group", ("I7",)
    ),
    CheckSpec(
        "identity.distinct", "component identities are distinct, outside the members' UID range", ("I7",)
    ),
    CheckSpec("ldap.socket", "the directory's local socket is there", ("I8",)),
    CheckSpec("ldap.identity", "the directory knows the component by the profile's identity", ("I8",)),
    CheckSpec("ldap.acl", "the directory allows sshPublicKey writes and no other", ("I7", "I9")),
    CheckSpec("sssd.cache", "sssd's cache timeout is the profile's", ("I9",), severity="warning"),
    CheckSpec("site-api.tls", "the Site API answers over verified TLS, without a redirect", ("I18",)),
    CheckSpec("site-api.scope", "the grant's scope is the component's alone", ("I7", "I18")),
    CheckSpec("site-api.site", "the grant is for the profile's site", ("I4", "I18")),
    CheckSpec("site-api.expiry", "the grant does not end soon", ("I18",), severity="warning"),
    CheckSpec(
        "intake.key", "the Site intake answers over verified TLS and the key opens this site", ("I18",)
    ),
    CheckSpec("waldur.api", "Waldur answers over verified TLS and knows the token", ("I15",)),
    CheckSpec("waldur.version", "Waldur is the version the reporter is made for", ("I15",)),
    CheckSpec("waldur.offering", "the site's offering can be read", ("I15",)),
    CheckSpec("waldur.role", "the token's role is on the offering's provider, and no more", ("I7", "I15")),
    CheckSpec("waldur.provider", "the provider sells this offering alone", ("I15",)),
    CheckSpec("waldur.component", "node-hours are limit-billed over the whole lifetime", ("I15",)),
    CheckSpec("waldur.posix-pools", "the offering's id pool stays in the site's ranges", ("I9", "I15")),
    CheckSpec("ldap.agent-bind", "the directory takes the agent's simple bind over loopback", ("I8",)),
    CheckSpec("ldap.agent-bases", "people and groups bases are there", ("S8",)),
    CheckSpec("ldap.agent-limits", "the directory lists both bases whole", ("X1", "S8")),
    CheckSpec(
        "ldap.agent-acl", "the directory refuses the agent keys, passwords, foreign uids", ("I7", "I9")
    ),
    CheckSpec("ldap.agent-absence", "the directory tells what it hides from what is not there", ("X1", "S8")),
    CheckSpec("slurm.accounting", "slurmdbd answers the component's user", ("I7", "I9")),
    CheckSpec("slurm.version", "Slurm has the fix of the coordinator's elevation", ("I7",)),
    CheckSpec("slurm.cluster", "the profile's cluster is in accounting", ("I9",)),
    CheckSpec("slurm.account", "the profile's parent account is there", ("I9",)),
    CheckSpec("slurm.coordinator", "the component's user coordinates it, and is no administrator", ("I7",)),
    CheckSpec("slurm.coordinator-writes", "slurmdbd lets coordinators write", ("I9",)),
    CheckSpec("slurm.store-flags", "accounting stores no job's environment", ("I9",)),
    CheckSpec("runtime.jwt", "Slurm takes members' tokens, the user by the profile's claim", ("S2",)),
    CheckSpec(
        "runtime.token-keys", "Slurm trusts exactly the signing keys that the evidence names", ("I12", "S2")
    ),
    CheckSpec("runtime.submission", "sbatch can keep a member's token out of the member's job", ("S2",)),
    CheckSpec("runtime.partition", "staging and compute are there, with the profile's limits", ("I9",)),
    CheckSpec("runtime.staging-internet", "somebody answers for the Internet of all staging nodes", ("I9",)),
    CheckSpec("runtime.repository", "a staging node reaches the Git hosts over verified TLS", ("I9",)),
    CheckSpec("runtime.staging-tools", "git and git-lfs are on a staging node, where one is seen", ("S2",)),
    CheckSpec("runtime.members-group", "the members' group is there, and approved for the unit", ("S4",)),
    CheckSpec("runtime.scratch", "scratch and the runtime's folder in it are right and usable", ("S4",)),
    CheckSpec("site-agent.modes", "no mode of the upstream agent removes without evidence", ("I16", "S9")),
    CheckSpec("release.sealed", "the release is sealed and unchanged", ("I4", "I14")),
    CheckSpec("unit.verify", "systemd accepts the rendered unit", ("I10",)),
    CheckSpec("unit.admin", "no administrator masked the unit", ("I13",)),
    CheckSpec("unit.drop-ins", "no local drop-in changes the unit", ("I13",), severity="warning"),
    CheckSpec(
        "unit.edited", "unit and settings are as the installer wrote them", ("I4", "I13"), severity="warning"
    ),
    CheckSpec("evidence", "accepted evidence for each contract", ("I12",)),
)
CHECKS: dict[str, CheckSpec] = {spec.id: spec for spec in _SPECS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one check. ``found`` and ``wanted`` hold no secret."""

    check: str
    status: Status
    found: str
    wanted: str
    remedy: str = ""
    subject: str = ""
    """What was looked at, where a check has several: a component, a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One check an administrator takes the responsibility for, until a date (I20)."""

    check: str
    reason: str
    until: str
    by: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings of a phase, waivers applied."""

    findings: tuple[Finding, ...]

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Findings that stop the phase."""
        return tuple(finding for finding in self.findings if finding.status in {"fail", "unknown"})


def passed(check: str, found: str, wanted: str, subject: str = "") -> Finding:
    """A check that holds."""
    return Finding(check=check, status="pass", found=found, wanted=wanted, subject=subject)


def failed(check: str, found: str, wanted: str, remedy: str, subject: str = "") -> Finding:
    """A check that does not hold: failed or, for one of severity warning, a warning."""
    status: Status = "warn" if CHECKS[check].severity == "warning" else "fail"
    return Finding(check=check, status=status, found=found, wanted=wanted, remedy=remedy, subject=subject)


def unknown(check: str, found: str, wanted: str, remedy: str, subject: str = "") -> Finding:
    """A check that could not be made; never the same as one that holds (X1)."""
    status: Status = "warn" if CHECKS[check].severity == "warning" else "unknown"
    return Finding(check=check, status=status, found=found, wanted=wanted, remedy=remedy, subject=subject)


def judge(findings: Iterable[Finding], waivers: dict[str, tuple[Waiver, datetime]], now: datetime) -> Verdict:
    """Apply the waivers (by check id, with their parsed end) to ``findings``."""
    result: list[Finding] = []
    for finding in findings:
        entry = waivers.get(finding.check)
        if finding.status not in {"fail", "unknown"} or entry is None:
            result.append(finding)
            continue
        waiver, until = entry
        if not CHECKS[finding.check].waivable or until <= now:
            result.append(
                replace(finding, remedy=f"{finding.remedy} (the waiver until {waiver.until} is over)")
            )
            continue
        note = f"waived by {waiver.by} until {waiver.until}: {waiver.reason}"
        result.append(replace(finding, status="waived", remedy=note))
    return Verdict(tuple(result))


def refuse_bad_waiver(check: str) -> None:
    """Raise Refusal for a waiver of an unknown check, of "all", or of one that is never waivable (I20)."""
    spec = CHECKS.get(check)
    if spec is None:
        raise Refusal(
            "waiver_unknown",
            found="a waiver for a check that does not exist",
            wanted=f"one of {', '.join(sorted(spec.id for spec in _SPECS if spec.waivable))}",
            remedy="Name one check; there is no waiver for all of them.",
            exit_code=USAGE,
        )
    if not spec.waivable:
        raise Refusal(
            "waiver_forbidden",
            found=f"a waiver for {check}, which guards {', '.join(spec.guards)}",
            wanted="no waiver for this check, ever",
            remedy="Remove the waiver and repair what the check finds.",
            exit_code=USAGE,
        )


def refusal_of(phase: str, verdict: Verdict) -> Refusal | None:
    """The phase's refusal when checks failed: exit 3, or 10 when this host can never do."""
    refused = verdict.refused
    if not refused:
        return None
    first = refused[0]
    others = f" ({len(refused) - 1} more)" if len(refused) > 1 else ""
    unsupported = any(CHECKS[finding.check].unsupported for finding in refused)
    where = f" [{first.subject}]" if first.subject else ""
    return Refusal(
        "checks_failed",
        found=f"{phase}: {first.check}{where}: {first.found}{others}",
        wanted=first.wanted,
        remedy=first.remedy or "See each finding above.",
        exit_code=UNSUPPORTED_HOST if unsupported else PREFLIGHT_REFUSED,
    )
