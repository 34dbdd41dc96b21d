"""``rollback``: back to a retained release that was good; re-verified, data untouched (I14, H21, B32)."""

from dataclasses import dataclass

from installer.bootstrap.lock import hold
from installer.domain.activation import linked_release
from installer.domain.plan import ComponentTarget, describe, switch_plan
from installer.domain.refusal import USAGE, Refusal
from installer.domain.releases import Move, refuse_opposite, rollback_target
from installer.domain.state import State
from installer.host.context import Host
from installer.host.links import component_link
from installer.host.observe import observe_component
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site
from installer.phases.activate import make_target
from installer.phases.checks_host import switch_room_findings
from installer.phases.guards import (
    refuse_bad,
    refuse_changed_inputs,
    refuse_mismatch,
    refuse_unfinished,
    refuse_unreadable_component_journal,
)
from installer.phases.outcome import Outcome, announce, settle
from installer.phases.rendering import refuse_edited_files
from installer.steps.switch import switch


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """What the administrator asks for; no release means the last good one."""

    components: tuple[str, ...]
    operation: str
    to: str | None = None
    accepted_units: tuple[str, ...] = ()
    accept_inputs: bool = False
    retry_bad: bool = False


def plan_rollback(host: Host, site: Site, request: RollbackRequest) -> Outcome:
    """What ``rollback`` would do now; nothing is written."""
    announce(host, "rollback (plan)", site.profile)
    targets = _targets(host, site, host.state.read(), request, verify=False)
    moves = _moves(host, targets)
    lines = [*map(str, moves), *(describe(action) for action in switch_plan(targets))]
    for line in lines:
        host.report.say("plan", line)
    return Outcome(text="\n".join(["rollback would:", *lines]), fields={"plan": lines})


def rollback(host: Host, site: Site, request: RollbackRequest) -> Outcome:
    """Roll back. Raises Refusal: 2, 4, 5, 9 with nothing changed, 7 restored, 8 restore incomplete."""
    announce(host, "rollback", site.profile)
    with hold(host.paths.lock, verb="rollback"):
        refuse_unfinished(host)
        state, said = host.state.load(host.clock.now())
        if said:
            host.report.say("warning", said)
        targets = _targets(host, site, state, request, verify=True)
        _moves(host, targets)
        settle(host, site.profile, "rollback", switch_room_findings(host))
        host.state.write(state)
        operation = switch(host, "rollback", request.operation, targets)
    names = ", ".join(f"{target.intent.name} to {target.intent.release}" for target in targets)
    return Outcome(
        text=f"rolled back and healthy: {names}; application data is as it was",
        changed=True,
        fields={
            "operation": operation.id,
            "components": {target.intent.name: target.intent.release for target in targets},
        },
    )


def _targets(
    host: Host, site: Site, state: State, request: RollbackRequest, *, verify: bool
) -> tuple[ComponentTarget, ...]:
    """Every component's target, all refusals raised before the first stop."""
    targets: list[ComponentTarget] = []
    for name in request.components:
        if name not in state.components:
            raise Refusal(
                "rollback_nothing",
                found=f"component {name} was never active here",
                wanted="a component with a success record",
                remedy="Use `activate` for a first activation.",
                exit_code=USAGE,
            )
        installed = _wanted(host, name, request, verify=verify)
        unit = installed.component(name).unit
        prior = observe_component(host, name=name, unit=unit, state=state)
        refuse_bad(name, installed.id, state, retry=request.retry_bad)
        refuse_changed_inputs(name, prior, site.profile, accepted=request.accept_inputs)
        accepted = unit in request.accepted_units
        refuse_edited_files(host, site, name, prior, unit, accepted=accepted)
        target = make_target(host, site, installed, name=name, prior=prior, operation=request.operation)
        refuse_mismatch(target.intent)
        if verify:
            refuse_unreadable_component_journal(host, installed, name)
        targets.append(target)
    return tuple(targets)


def _moves(host: Host, targets: tuple[ComponentTarget, ...]) -> list[Move]:
    """Which way each goes, with a warning for FORWARD. Raises Refusal ``rollback_directions``."""
    moves = [
        Move(
            component=target.intent.name,
            current=linked_release(target.intent.prior.current, target.intent.name),
            wanted=target.intent.release,
        )
        for target in targets
    ]
    refuse_opposite(moves)
    for move in moves:
        if move.direction == "FORWARD":
            host.report.say("warning", f"this rollback goes FORWARD: {move}")
    return moves


def _wanted(host: Host, name: str, request: RollbackRequest, *, verify: bool) -> InstalledRelease:
    """The release to go back to; the current one need not even be readable."""
    release = rollback_target(
        host.releases.sealed(),
        component=name,
        asked=request.to,
        current=linked_release(component_link(host.paths, name, "current"), name),
        previous=linked_release(component_link(host.paths, name, "previous"), name),
    )
    return host.releases.verified(release) if verify else host.releases.manifest_of(release)
