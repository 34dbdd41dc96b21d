"""The way back: a pure function of the journal's intent and the observed host.

Rules, each tested:
1. An operation without a closing record goes back to its prior state, whatever it had reached (rows 2-6).
2. What already equals the prior state is left alone: a process that ran through it all is not restarted
   (row 2).
3. A unit that must change is stopped first, so that no process sees half a release (installer fact 3).
4. A unit that was not enabled is disabled while its file still stands; one that was is enabled after its
   file is back.
5. A unit that ran before runs again, from the prior link, and is waited for.
6. The answer for the restored host is empty but for starts in rule 5: recovery may be killed and run again
   (row 7).
"""

from collections.abc import Mapping

from installer.domain.activation import ComponentIntent, ComponentState, Operation
from installer.domain.plan import (
    Action,
    AwaitHealth,
    PlaceFile,
    Record,
    ReloadUnits,
    SetEnabled,
    SetLink,
    StartUnit,
    StopUnit,
)


def recovery_plan(operation: Operation, host: Mapping[str, ComponentState]) -> tuple[Action, ...]:
    """Steps that bring every component of ``operation`` back to its prior state, in order."""
    stops: list[Action] = []
    disables: list[Action] = []
    links: list[Action] = []
    files: list[Action] = []
    enables: list[Action] = []
    starts: list[Action] = []
    records: list[Action] = []
    reload: list[str] = []
    for intent in operation.components:
        now = host[intent.name]
        untouched = _runs_untouched(intent, now)
        if now.active and not untouched:
            stops.append(StopUnit(component=intent.name, unit=intent.unit))
        if now.enabled and not intent.prior.enabled:
            disables.append(SetEnabled(component=intent.name, unit=intent.unit, enabled=False))
        links.extend(_links(intent, now))
        files.extend(
            PlaceFile(component=intent.name, placed=placed)
            for placed in intent.prior.files
            if placed not in now.files
        )
        if intent.prior.enabled and not now.enabled:
            enables.append(SetEnabled(component=intent.name, unit=intent.unit, enabled=True))
        if not untouched:
            reload.append(intent.unit)
        if intent.prior.active and not untouched:
            starts.append(StartUnit(component=intent.name, unit=intent.unit))
            starts.append(AwaitHealth(component=intent.name, unit=intent.unit, release=None))
        if now.record != intent.prior.record:
            records.append(Record(component=intent.name, record=intent.prior.record))
    reloads: list[Action] = [ReloadUnits(units=tuple(reload))] if reload else []
    return (*stops, *disables, *links, *files, *reloads, *enables, *starts, *records)


def is_prior(intent: ComponentIntent, now: ComponentState) -> bool:
    """Whether the component shows its prior state, its running process aside from which one it is."""
    prior = intent.prior
    return (
        now.current == prior.current
        and now.previous == prior.previous
        and set(now.files) == set(prior.files)
        and now.enabled == prior.enabled
        and now.active == prior.active
        and now.record == prior.record
    )


def _same_on_disk(intent: ComponentIntent, now: ComponentState) -> bool:
    prior = intent.prior
    return now.current == prior.current and set(now.files) == set(prior.files)


def _runs_untouched(intent: ComponentIntent, now: ComponentState) -> bool:
    """The same process as before on the same link and files; or stopped before and now, nothing changed."""
    if not _same_on_disk(intent, now) or now.active != intent.prior.active:
        return False
    return not now.active or now.invocation == intent.prior.invocation


def _links(intent: ComponentIntent, now: ComponentState) -> list[Action]:
    result: list[Action] = []
    if now.current != intent.prior.current:
        result.append(SetLink(component=intent.name, name="current", target=intent.prior.current))
    if now.previous != intent.prior.previous:
        result.append(SetLink(component=intent.name, name="previous", target=intent.prior.previous))
    return result
