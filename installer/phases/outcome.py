"""What a phase answers: one sentence, the facts behind it, and whether anything was changed."""

from dataclasses import dataclass, field

from installer.domain.checks import CHECKS, Finding, Verdict, judge, refusal_of
from installer.domain.profile import Profile
from installer.domain.refusal import DONE
from installer.host.context import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A phase's result; ``fields`` are JSON values of the final event.

    ``exit_code`` is not 0 where the phase did its work and the answer is no good news (``status``).
    """

    text: str
    changed: bool = False
    fields: dict[str, object] = field(default_factory=dict)
    exit_code: int = DONE


def settle(host: Host, profile: Profile, phase: str, findings: list[Finding]) -> Verdict:
    """Apply the profile's waivers, tell every finding, and refuse if any is left (exit 3 or 10)."""
    verdict = judge(findings, profile.waivers_by_check(), host.clock.now())
    for finding in verdict.findings:
        tell(host, finding)
    refusal = refusal_of(phase, verdict)
    if refusal is not None:
        raise refusal
    return verdict


def tell(host: Host, finding: Finding) -> None:
    """One finding as an event."""
    subject = f" [{finding.subject}]" if finding.subject else ""
    text = f"{finding.status:7} {finding.check}{subject}: {finding.found}"
    if finding.status not in {"pass"}:
        text += f"; wanted {finding.wanted}"
        text += f". {finding.remedy}" if finding.remedy else ""
    host.report.say(
        "check",
        text,
        check=finding.check,
        status=finding.status,
        subject=finding.subject,
        found=finding.found,
        wanted=finding.wanted,
        remedy=finding.remedy,
    )


def plan_checks(host: Host, profile: Profile, phase: str, needed: tuple[str, ...]) -> Outcome:
    """The checks whose ids start with one of ``needed``, as a plan."""
    announce(host, f"{phase} (plan)", profile)
    lines = [
        f"check {spec.id}: {spec.title}{'' if spec.waivable else ' (never waivable)'}"
        for spec in CHECKS.values()
        if spec.id.startswith(needed)
    ]
    for line in lines:
        host.report.say("plan", line)
    return Outcome(text="\n".join([f"{phase} would:", *lines]), fields={"plan": lines})


def counts(verdict: Verdict) -> dict[str, object]:
    """How many findings passed, and each that was waived or a warning, for the result and the log (I20)."""
    return {
        "pass": sum(1 for finding in verdict.findings if finding.status == "pass"),
        "warn": [finding.check for finding in verdict.findings if finding.status == "warn"],
        "waived": [
            {"check": finding.check, "subject": finding.subject, "note": finding.remedy}
            for finding in verdict.findings
            if finding.status == "waived"
        ],
    }


def announce(host: Host, phase: str, profile: Profile) -> None:
    """Say which phase runs for which site, and shout when it is a laboratory (X8)."""
    host.report.say(
        "phase", f"{phase} for {profile.name} (site {profile.site})", phase=phase, profile=profile.name
    )
    if profile.laboratory:
        host.report.say(
            "warning",
            "LABORATORY profile: laboratory evidence and fault injection are accepted; proves nothing",
        )
    for waiver in profile.waivers:
        host.report.say(
            "warning", f"waiver of {waiver.check} until {waiver.until} by {waiver.by}: {waiver.reason}"
        )
