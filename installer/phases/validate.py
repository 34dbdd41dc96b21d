"""``validate``: would the installed release work here? Directory rights are tried on the probe entry,
nothing starts.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from installer.bootstrap.lock import hold
from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import RUNTIME
from installer.domain.evidence import Candidate
from installer.domain.refusal import Refusal
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.files import write_file
from installer.host.observe import observe_component
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site, read_evidence
from installer.host.systemd import ServiceError
from installer.phases.checks_component import native_findings, needed_checks, remote_findings
from installer.phases.checks_evidence import evidence_findings, token_finding
from installer.phases.checks_host import identity_findings
from installer.phases.outcome import Outcome, announce, counts, plan_checks, settle
from installer.phases.rendering import edited_files, rendered_unit

_NEEDED = (
    *("release.sealed", "python.", "identity.", "credentials.", "site-api.", "unit.", "ldap.", "sssd."),
    *("intake.", "waldur.", "site-agent.", "slurm.", "runtime."),
)


def plan_validate(host: Host, site: Site) -> Outcome:
    """Which checks ``validate`` would make; none is made, and the probe entry is not touched."""
    return plan_checks(host, site.profile, "validate", needed_checks(_NEEDED, site.profile))


def validate(
    host: Host, site: Site, release: str, components: tuple[str, ...], evidence: Path | None = None
) -> Outcome:
    """All checks of the installed release, then one refusal or none. Takes the lock: the probe entry is
    one. ``evidence``: a folder; each contract is judged too then.
    """
    announce(host, "validate", site.profile)
    with hold(host.paths.lock, verb="validate"):
        installed = host.releases.verified(release)
        host.report.say(
            "check", f"pass    release.sealed: {release} is as it was sealed", check="release.sealed"
        )
        candidates = read_evidence(host.paths, site, evidence, host.limits) if evidence else None
        findings = component_findings(host, site, installed, components, candidates)
        if candidates is not None:
            findings = [*evidence_findings(host, site, installed, components, candidates), *findings]
        verdict = settle(host, site.profile, "validate", findings)
    return Outcome(
        text=f"validated: release {release} can run {', '.join(components)} here."
        " Installed and validated is not qualified: activate judges the running component",
        fields={"release": release, "components": list(components), "checks": counts(verdict)},
    )


def component_findings(
    host: Host,
    site: Site,
    installed: InstalledRelease,
    components: tuple[str, ...],
    evidence: Sequence[Candidate] | None = None,
) -> list[Finding]:
    """What must hold for each component before it may run. ``evidence``: None while none was handed over."""
    users = {name: installed.component(name).user for name in components}
    findings = identity_findings(host, site.profile, users, must_exist=True)
    for name in components:
        findings.append(_interpreter(host, site, installed, name))
        findings += remote_findings(host, site, name)
        findings += unit_findings(host, site, installed, name)
        findings += native_findings(host, site, name, users[name])
        findings += [token_finding(host, site, installed, evidence)] if name == RUNTIME else []
    return findings


def _interpreter(host: Host, site: Site, installed: InstalledRelease, component: str) -> Finding:
    """The sealed environment runs on the very interpreter the profile names (I4, I6)."""
    program = host.paths.venv(installed.id, component) / "bin" / "python"
    named = host.paths.at(site.profile.python)
    wanted = f"an environment built on {site.profile.python}"
    remedy = "Install the release again with this profile, or correct `python` in it."
    try:
        found = program.resolve(strict=True)
        same = found == named.resolve(strict=True)
    except OSError as error:
        found_text = f"{error.filename}: {error.strerror}"
        return failed("python.interpreter", found_text, wanted, remedy, subject=component)
    if same:
        return passed("python.interpreter", f"it runs on {found}", wanted, subject=component)
    return failed("python.interpreter", f"it was built on {found}", wanted, remedy, subject=component)


def unit_findings(host: Host, site: Site, installed: InstalledRelease, component: str) -> list[Finding]:
    """The unit as systemd sees it: accepted text, not masked, drop-ins shown (row 32)."""
    unit = installed.component(component).unit
    findings = [_accepted(host, site, installed, component, unit)]
    wanted = f"{unit} not masked"
    try:
        state = host.services.show(unit)
    except ServiceError as error:
        remedy = "See `systemctl status`; activation needs systemd."
        return [*findings, unknown("unit.admin", str(error), wanted, remedy, subject=component)]
    if state.masked:
        remedy = f"An administrator masked it: systemctl unmask {unit}, if that is wanted."
        findings.append(failed("unit.admin", "it is masked", wanted, remedy, subject=component))
    else:
        findings.append(
            passed("unit.admin", state.file_state or "no unit file yet", wanted, subject=component)
        )
    if state.drop_ins:
        remedy = "Local drop-ins are kept; look whether they fit this release."
        found = ", ".join(state.drop_ins)
        findings.append(failed("unit.drop-ins", found, "no local drop-in", remedy, subject=component))
    return [*findings, _edited(host, site, installed, component)]


def _edited(host: Host, site: Site, installed: InstalledRelease, component: str) -> Finding:
    """Edits by hand are told here; ``activate`` and ``rollback`` refuse them (I4, row 32)."""
    unit = installed.component(component).unit
    wanted = "unit and settings as the installer wrote them"
    remedy = "Move changes of the unit to a drop-in, those of the settings to the profile."
    try:
        prior = observe_component(host, name=component, unit=unit, state=host.state.read())
        edited = edited_files(host, site, component, prior, unit)
    except (Refusal, OSError) as error:
        return unknown("unit.edited", str(error), wanted, remedy, subject=component)
    if not edited:
        return passed("unit.edited", "no edit by hand", wanted, subject=component)
    return failed("unit.edited", ", ".join(edited), wanted, remedy, subject=component)


def _accepted(host: Host, site: Site, installed: InstalledRelease, component: str, unit: str) -> Finding:
    """``systemd-analyze verify`` of the rendered text in a folder of its own; a misspelt directive counts
    (fact 12).
    """
    wanted = f"`systemd-analyze verify` is content with {unit}"
    remedy = "Use a release whose unit fits this systemd; see its words."
    try:
        placed = rendered_unit(host, site, installed, component)
        with tempfile.TemporaryDirectory(prefix="pharos-unit-") as folder:
            if placed.file is not None:
                write_file(Path(folder) / unit, placed.file)
            argv = [
                "systemd-analyze",
                "verify",
                "--recursive-errors=no",
                "--man=no",
                str(Path(folder) / unit),
            ]
            done = host.run(argv, timeout=host.limits.command_seconds)
    except Refusal as refusal:
        return failed("unit.verify", refusal.found, wanted, refusal.remedy, subject=component)
    except (CommandError, OSError) as error:
        return unknown("unit.verify", str(error), wanted, remedy, subject=component)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    # Before the first activation nothing is linked, so the console script is not there yet: not the unit's
    # fault.
    absent = [line for line in lines if "is not executable" in line]
    complaints = [line for line in lines if unit in line and line not in absent]
    if not complaints and (done.code == 0 or absent):
        return passed("unit.verify", "systemd accepts it", wanted, subject=component)
    found = "; ".join(complaints)[:500] or f"exit {done.code}"
    return failed("unit.verify", found, wanted, remedy, subject=component)
