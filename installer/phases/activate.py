"""``activate``: switch chosen components to an installed release, with evidence; restore everything on
failure (I12, I13).
"""

from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.lock import hold
from installer.domain.activation import (
    ComponentIntent,
    ComponentState,
    SuccessRecord,
    link_target,
    linked_release,
)
from installer.domain.plan import ComponentTarget, describe, switch_plan
from installer.domain.refusal import UNSUPPORTED_HOST, Refusal
from installer.domain.state import State
from installer.domain.times import format_time
from installer.host.context import Host
from installer.host.observe import observe_component, reported_status
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site, read_evidence
from installer.phases.checks_evidence import evidence_findings
from installer.phases.checks_host import switch_room_findings
from installer.phases.guards import (
    refuse_bad,
    refuse_changed_inputs,
    refuse_downgrade,
    refuse_mismatch,
    refuse_unfinished,
    refuse_unreadable_component_journal,
)
from installer.phases.outcome import Outcome, announce, counts, settle
from installer.phases.rendering import refuse_edited_files, rendered_files
from installer.phases.validate import component_findings
from installer.steps.switch import switch


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivateRequest:
    """What the administrator asks for."""

    release: str
    components: tuple[str, ...]
    evidence: Path
    operation: str
    """Id of this operation, made by the caller."""
    named: bool = False
    """The administrator named the release; an older one is taken only then."""
    retry_bad: bool = False
    accepted_units: tuple[str, ...] = ()
    accept_inputs: bool = False


def plan_activate(host: Host, site: Site, request: ActivateRequest) -> Outcome:
    """What ``activate`` would do now; nothing is written, no check that writes is made."""
    announce(host, "activate (plan)", site.profile)
    installed = host.releases.manifest_of(request.release)
    state = host.state.read()
    targets = _targets(host, site, installed, state, request)
    lines = [describe(action) for action in switch_plan(targets)] if _left(host, targets, installed) else []
    for line in lines:
        host.report.say("plan", line)
    text = "\n".join(["activate would:", *lines]) if lines else f"no change: {request.release} is active"
    return Outcome(text=text, fields={"release": request.release, "plan": lines})


def activate(host: Host, site: Site, request: ActivateRequest) -> Outcome:
    """Activate. Raises Refusal: 3, 4, 5, 9, 10 with nothing changed, 7 restored, 8 restore incomplete."""
    announce(host, "activate", site.profile)
    with hold(host.paths.lock, verb="activate"):
        refuse_unfinished(host)
        if not host.services.running():
            raise _no_systemd()
        state, said = host.state.load(host.clock.now())
        if said:
            host.report.say("warning", said)
        installed = host.releases.verified(request.release)
        for name in request.components:
            refuse_bad(name, installed.id, state, retry=request.retry_bad)
        candidates = read_evidence(host.paths, site, request.evidence, host.limits)
        findings = [
            *evidence_findings(host, site, installed, request.components, candidates),
            *switch_room_findings(host),
            *component_findings(host, site, installed, request.components, candidates),
        ]
        verdict = settle(host, site.profile, "activate", findings)
        targets = _targets(host, site, installed, state, request)
        for target in targets:
            refuse_mismatch(target.intent)
            refuse_unreadable_component_journal(host, installed, target.intent.name)
        if not _left(host, targets, installed):
            text = f"no change: release {installed.id} is active for {', '.join(request.components)}"
            return Outcome(text=text, fields={"release": installed.id})
        host.state.write(state)
        operation = switch(host, "activate", request.operation, targets)
    return Outcome(
        text=f"release {installed.id} is active and healthy: {', '.join(request.components)}",
        changed=True,
        fields={"release": installed.id, "operation": operation.id, "checks": counts(verdict)},
    )


def make_target(
    host: Host, site: Site, installed: InstalledRelease, *, name: str, prior: ComponentState, operation: str
) -> ComponentTarget:
    """What the switch gives one component: links, files, record; an administrator's ``disable`` is kept."""
    unit = installed.component(name).unit
    files = rendered_files(host, site, installed, name)
    unit_file, settings_file = files[0].file, files[1].file
    current = linked_release(prior.current, name)
    linked_release(prior.previous, name)
    good = prior.record.release if prior.record is not None else None
    keep = prior.previous if current == installed.id else None
    if good is not None and good != installed.id:
        keep = link_target(good, name)
    return ComponentTarget(
        intent=ComponentIntent(name=name, unit=unit, release=installed.id, prior=prior),
        files=files,
        record=SuccessRecord(
            release=installed.id,
            operation=operation,
            at=format_time(host.clock.now()),
            unit_sha256=unit_file.sha256 if unit_file is not None else "",
            settings_sha256=settings_file.sha256 if settings_file is not None else "",
            inputs=site.profile.recorded_inputs(name),
        ),
        keep_previous=keep,
        enable=prior.record is None and not prior.enabled,
    )


def _targets(
    host: Host, site: Site, installed: InstalledRelease, state: State, request: ActivateRequest
) -> tuple[ComponentTarget, ...]:
    targets: list[ComponentTarget] = []
    for name in request.components:
        unit = installed.component(name).unit
        prior = observe_component(host, name=name, unit=unit, state=state)
        refuse_downgrade(name, prior, installed.id, named=request.named)
        refuse_changed_inputs(name, prior, site.profile, accepted=request.accept_inputs)
        accepted = unit in request.accepted_units
        refuse_edited_files(host, site, name, prior, unit, accepted=accepted)
        if prior.record is not None and not prior.enabled:
            host.report.say("warning", f"{unit} is not enabled; an administrator's choice, kept")
        targets.append(
            make_target(host, site, installed, name=name, prior=prior, operation=request.operation)
        )
    return tuple(targets)


def _left(host: Host, targets: tuple[ComponentTarget, ...], installed: InstalledRelease) -> bool:
    """Whether anything is left to do: link, files, record and a running process of this release make "no
    change".
    """
    for target in targets:
        prior = target.intent.prior
        status = reported_status(host, target.intent.name)
        runs = prior.active and not isinstance(status, str) and status.release == installed.id
        same = prior.current == link_target(installed.id, target.intent.name) and set(target.files) <= set(
            prior.files
        )
        recorded = prior.record is not None and prior.record.release == installed.id
        if not (runs and same and recorded and not target.enable):
            return True
    return False


def _no_systemd() -> Refusal:
    return Refusal(
        "systemd_absent",
        found="systemd does not answer",
        wanted="systemd running this host",
        remedy="Activate on the host itself; an installed release stays as it is.",
        exit_code=UNSUPPORTED_HOST,
    )
