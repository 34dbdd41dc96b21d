"""``recover``: finish what was interrupted, always back to the state from before it; converges when killed
(row 7).
"""

from installer.bootstrap.lock import hold
from installer.domain.activation import SuccessRecord, linked_release
from installer.domain.plan import describe
from installer.domain.recovery import recovery_plan
from installer.domain.times import format_time
from installer.host.context import Host
from installer.host.links import component_link, linked_components
from installer.host.state_file import REBUILT
from installer.phases.outcome import Outcome
from installer.steps.switch import observe_operation, restore_incomplete, resume


def plan_recover(host: Host) -> Outcome:
    """What ``recover`` would do now; nothing is written."""
    journal = host.journal.read()
    if journal is None or journal.closed or journal.operation is None:
        return Outcome(text="recover would do nothing: no operation is open", fields={"plan": []})
    lines = [
        describe(action)
        for action in recovery_plan(journal.operation, observe_operation(host, journal.operation))
    ]
    for line in lines:
        host.report.say("plan", line)
    return Outcome(text="\n".join(["recover would:", *lines]), fields={"plan": lines})


def recover(host: Host, *, quarantine_journal: bool, adopt_links: bool) -> Outcome:
    """Recover. Raises Refusal: 9 for a journal that cannot be read, 8 for a restore that stays incomplete."""
    with hold(host.paths.lock, verb="recover"), host.signals.shielded():
        done: list[str] = []
        if quarantine_journal and host.paths.journal.exists():
            done.append(
                f"journal moved aside to {host.journal.quarantine().name}; nothing was restored from it"
            )
        journal = host.journal.read()
        state, said = host.state.load(host.clock.now())
        if said:
            done.append(said)
        if journal is not None:
            if not host.paths.state.exists():
                host.state.write(state)
            problems = resume(host, journal)
            if problems and journal.operation is not None:
                raise restore_incomplete(journal.operation, "recover", problems)
            if journal.operation is not None and not journal.closed:
                done.append(
                    f"{journal.operation.phase} {journal.operation.id} was undone: the prior state is back"
                )
        if adopt_links:
            done += _adopt(host)
    text = "; ".join(done) or "nothing to recover"
    return Outcome(text=text, changed=bool(done), fields={"done": done})


def _adopt(host: Host) -> list[str]:
    """Make success records say what the links say, for links to sealed, unchanged releases alone."""
    state = host.state.read()
    done: list[str] = []
    for name in linked_components(host.paths):
        release = linked_release(component_link(host.paths, name, "current"), name)
        record = state.components.get(name)
        if release is None or (record is not None and record.release == release):
            continue
        host.releases.verified(release)
        adopted = SuccessRecord(
            release=release, operation=REBUILT, at=format_time(host.clock.now()), unit_sha256=""
        )
        state = state.with_record(name, adopted)
        done.append(f"the record of {name} names {release} now, as its link does")
    for name in sorted(set(state.components) - set(linked_components(host.paths))):
        state = state.with_record(name, None)
        done.append(f"the record of {name} is removed: it has no link")
    if done:
        host.state.write(state)
    return done
