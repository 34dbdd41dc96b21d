"""Steps of a switch as data: what each does, in which order.

A plan is a tuple of actions. ``describe`` is what ``--plan`` prints. Doing is ``installer.steps.perform``'s
part; undoing is a plan of the same actions, made by ``installer.domain.recovery`` from the prior state.
"""

from dataclasses import dataclass
from typing import assert_never

from installer.domain.activation import (
    ComponentIntent,
    LinkName,
    PlacedFile,
    SuccessRecord,
    link_target,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopUnit:
    """Stop the component's unit and wait until it is gone."""

    component: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLink:
    """Point ``components/<component>/<name>`` to ``target``; None removes the link."""

    component: str
    name: LinkName
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFile:
    """Write a file whole, or remove it."""

    component: str
    placed: PlacedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadUnits:
    """daemon-reload, proven by NeedDaemonReload and FragmentPath of each unit (B20)."""

    units: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEnabled:
    """Enable or disable the unit at boot."""

    component: str
    unit: str
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUnit:
    """Ask systemd to start the unit."""

    component: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitHealth:
    """Wait until the component of ``release`` was healthy for a whole window; None: until it is active at
    all.
    """

    component: str
    unit: str
    release: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Write the component's success record; None removes it."""

    component: str
    record: SuccessRecord | None


Action = StopUnit | SetLink | PlaceFile | ReloadUnits | SetEnabled | StartUnit | AwaitHealth | Record


def step_id(action: Action) -> str:
    """The stable name of a step, as the journal, events and checkpoints carry it."""
    match action:
        case StopUnit():
            return f"stop:{action.component}"
        case SetLink():
            return f"link-{action.name}:{action.component}"
        case PlaceFile():
            return f"file:{action.placed.path}"
        case ReloadUnits():
            return "reload"
        case SetEnabled():
            return f"{'enable' if action.enabled else 'disable'}:{action.component}"
        case StartUnit():
            return f"start:{action.component}"
        case AwaitHealth():
            return f"health:{action.component}"
        case Record():
            return f"record:{action.component}"
        case _:  # pragma: no cover
            assert_never(action)


def describe(action: Action) -> str:
    """One line for a human."""
    match action:
        case StopUnit():
            return f"stop {action.unit}"
        case SetLink():
            if action.target is None:
                return f"remove link components/{action.component}/{action.name}"
            return f"link components/{action.component}/{action.name} -> {action.target}"
        case PlaceFile():
            return f"{'remove' if action.placed.file is None else 'write'} {action.placed.path}"
        case ReloadUnits():
            return f"daemon-reload, verified for {', '.join(action.units)}"
        case SetEnabled():
            return f"{'enable' if action.enabled else 'disable'} {action.unit}"
        case StartUnit():
            return f"start {action.unit}"
        case AwaitHealth():
            if action.release is None:
                return f"wait until {action.unit} is active"
            return f"wait until {action.unit} is healthy as release {action.release}"
        case Record():
            if action.record is None:
                return f"remove the success record of {action.component}"
            return f"record {action.record.release} as active for {action.component}"
        case _:  # pragma: no cover
            assert_never(action)


def command(action: Action) -> str:
    """What an administrator would type to do this by hand, for a restore that failed (row 31)."""
    match action:
        case StopUnit():
            return f"systemctl stop {action.unit}"
        case SetLink():
            where = f"/opt/pharos-hpc/components/{action.component}/{action.name}"
            return f"rm {where}" if action.target is None else f"ln -sfnT {action.target} {where}"
        case PlaceFile():
            if action.placed.file is None:
                return f"rm {action.placed.path}"
            return f"write {action.placed.path} as the journal's intent record holds it (base64)"
        case ReloadUnits():
            return "systemctl daemon-reload"
        case SetEnabled():
            return f"systemctl {'enable' if action.enabled else 'disable'} {action.unit}"
        case StartUnit():
            return f"systemctl start {action.unit}"
        case AwaitHealth():
            return f"systemctl status {action.unit}"
        case Record():
            return "pharos-installer recover"
        case _:  # pragma: no cover
            assert_never(action)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentTarget:
    """What a switch gives one component."""

    intent: ComponentIntent
    files: tuple[PlacedFile, ...]
    """Unit and settings, rendered from the release."""
    record: SuccessRecord
    keep_previous: str | None
    """Link text ``previous`` shall hold afterwards: the last good release (B4, B6)."""
    enable: bool
    """False keeps an administrator's ``disable`` (row 32)."""


def switch_plan(targets: tuple[ComponentTarget, ...]) -> tuple[Action, ...]:
    """The whole switch: all stopped before any link moves, all links before any start, records last."""
    stops: list[Action] = []
    links: list[Action] = []
    files: list[Action] = []
    starts: list[Action] = []
    health: list[Action] = []
    records: list[Action] = []
    for target in targets:
        name, unit = target.intent.name, target.intent.unit
        stops.append(StopUnit(component=name, unit=unit))
        links.append(SetLink(component=name, name="previous", target=target.keep_previous))
        links.append(SetLink(component=name, name="current", target=link_target(target.intent.release, name)))
        files.extend(PlaceFile(component=name, placed=placed) for placed in target.files)
        if target.enable:
            starts.append(SetEnabled(component=name, unit=unit, enabled=True))
        starts.append(StartUnit(component=name, unit=unit))
        health.append(AwaitHealth(component=name, unit=unit, release=target.intent.release))
        records.append(Record(component=name, record=target.record))
    reload: Action = ReloadUnits(units=tuple(target.intent.unit for target in targets))
    return (*stops, *links, *files, reload, *starts, *health, *records)
