"""``status``: for each component what is wanted, linked, running and healthy; changes nothing, needs no
lock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from installer.domain.activation import LinkName, linked_release
from installer.domain.journal import Journal
from installer.domain.refusal import DONE, PREFLIGHT_REFUSED, UNFINISHED_JOURNAL, VERIFICATION_FAILED, Refusal
from installer.domain.state import BadRelease, State
from installer.domain.units import UnitState
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.files import unreadable
from installer.host.links import component_link
from installer.host.observe import observe_component, reported_status, systemd_unanswered
from installer.host.systemd import ServiceError
from installer.phases.outcome import Outcome
from installer.phases.rendering import edited_files
from installer.steps.perform import ask_component

UNREADABLE: Final = "<unreadable>"
Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentStatus:
    """One component; a text in angle brackets is a reason why a fact could not be had."""

    name: str
    wanted: str
    """Release of the success record."""
    linked: str
    previous: str
    running: str
    """Release the main process reports."""
    unit: str
    """systemd's words."""
    healthy: str
    drop_ins: tuple[str, ...]
    edited: tuple[str, ...]
    """Unit and settings files that are not as the record keeps them."""

    @property
    def agrees(self) -> bool:
        """Wanted, linked and running are one release, and it is healthy."""
        return self.wanted == self.linked == self.running and self.healthy == "yes"

    @property
    def inactive(self) -> bool:
        """Proven: nothing wanted, nothing linked, nothing running."""
        return self.wanted == self.linked == self.running == "none"


def status(host: Host, components: tuple[str, ...]) -> Outcome:
    """Everything known; unreadable facts are told as such, and never as "none" (X1).

    Exit code: 9 `recover` is due (an operation is open, or journal or state are broken); 4 another fact
    cannot be read; 3 a component is not as wanted; else 0.
    """
    look = _Look(host)
    state = look.at(host.state.read)
    journal = look.at(host.journal.read)
    rows = [_component(look, name, state) for name in components]
    releases = look.at(lambda: (host.releases.sealed(), host.releases.unsealed()))
    open_operation = _open(journal)
    lines = [line for row in rows for line in _lines(row)]
    lines += _release_lines(releases)
    lines += [f"bad: {b.component} {b.release} since {b.at}: {b.reason}" for b in state.bad] if state else []
    if open_operation:
        lines.append(f"UNFINISHED {open_operation}: run `pharos-installer recover`")
    lines += [f"unreadable: {fault}" for fault in dict.fromkeys(map(str, look.faults))]
    fields: dict[str, object] = {
        "components": {row.name: _fields(row) for row in rows},
        "releases": None if releases is None else list(releases[0]),
        "unfinishedReleases": None if releases is None else list(releases[1]),
        "openOperation": open_operation,
        "bad": None if state is None else [_bad(entry) for entry in state.bad],
        "problems": [str(fault) for fault in look.faults],
    }
    code = _exit_code(rows, look.faults, unfinished=open_operation is not None)
    return Outcome(text="\n".join(lines), fields=fields, exit_code=code)


class _Look:
    """Reads facts and keeps what could not be read."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.faults: list[Refusal] = []

    def at(self, read: Callable[[], Fact]) -> Fact | None:
        """What ``read`` answers; None, and a fault kept, when it could not be had."""
        try:
            return read()
        except Refusal as refusal:
            self.faults.append(refusal)
        except OSError as error:
            self.faults.append(unreadable(Path(str(error.filename)), error))
        except ServiceError as error:
            self.faults.append(systemd_unanswered(error))
        except CommandError as error:
            self.faults.append(_component_unanswered(error))
        return None

    def words(self, read: Callable[[], str]) -> str:
        """The fact as text; "<unreadable>", and a fault kept, when it could not be had."""
        fact = self.at(read)
        return UNREADABLE if fact is None else fact


def _component_unanswered(error: CommandError) -> Refusal:
    return Refusal(
        "component_unanswered",
        found=str(error),
        wanted="what the component's own status verb says",
        remedy="Run it by hand, as the component's user or root.",
        exit_code=VERIFICATION_FAILED,
    )


def _exit_code(rows: Sequence[ComponentStatus], faults: Sequence[Refusal], *, unfinished: bool) -> int:
    if unfinished or any(fault.exit_code == UNFINISHED_JOURNAL for fault in faults):
        return UNFINISHED_JOURNAL
    if faults:
        return VERIFICATION_FAILED
    return DONE if all(row.agrees or row.inactive for row in rows) else PREFLIGHT_REFUSED


def _open(journal: Journal | None) -> str | None:
    if journal is None or journal.closed or journal.operation is None:
        return None
    return f"{journal.operation.phase} {journal.operation.id}"


def _component(look: _Look, name: str, state: State | None) -> ComponentStatus:
    host = look.host
    linked = look.words(lambda: _link(host, name, "current"))
    unit = _unit_name(host, name, linked)
    seen = look.at(lambda: host.services.show(unit))
    reported = reported_status(host, name) if seen is not None and seen.runs else "not running"
    running = f"<{reported}>" if isinstance(reported, str) else reported.release
    if seen is None:
        running, healthy = UNREADABLE, UNREADABLE
    elif not seen.runs:
        running, healthy = "none", "no"
    else:
        healthy = look.words(lambda: _healthy(host, name, linked))
    return ComponentStatus(
        name=name,
        wanted=_wanted(state, name),
        linked=linked,
        previous=look.words(lambda: _link(host, name, "previous")),
        running=running,
        unit=UNREADABLE if seen is None else _unit_words(seen),
        healthy=healthy,
        drop_ins=() if seen is None else seen.drop_ins,
        edited=() if state is None or seen is None else _edited(look, name, unit, state),
    )


def _wanted(state: State | None, name: str) -> str:
    if state is None:
        return UNREADABLE
    record = state.components.get(name)
    return record.release if record is not None else "none"


def _edited(look: _Look, name: str, unit: str, state: State) -> tuple[str, ...]:
    try:
        component = observe_component(look.host, name=name, unit=unit, state=state)
    except Refusal as refusal:
        if refusal.code == "unit_masked":
            return (f"<{refusal.found}>",)
        look.faults.append(refusal)
        return (UNREADABLE,)
    return look.at(lambda: edited_files(look.host, None, name, component, unit)) or ()


def _link(host: Host, name: str, which: LinkName) -> str:
    return linked_release(component_link(host.paths, name, which), name) or "none"


def _unit_name(host: Host, name: str, linked: str) -> str:
    """The linked release's unit; the seam's name while nothing is linked."""
    try:
        return host.releases.manifest_of(linked).component(name).unit
    except Refusal:
        return f"pharos-{name}.service"


def _unit_words(seen: UnitState) -> str:
    return f"{seen.active} ({seen.sub}), {seen.file_state or 'no unit file'}"


def _healthy(host: Host, name: str, linked: str) -> str:
    """What the component's own ``status`` verb answers, asked as its identity."""
    if linked in {"none", UNREADABLE}:
        return "no (nothing is known to be linked)"
    problem = ask_component(host, name, linked)
    return "yes" if problem is None else f"no ({problem})"


def _release_lines(releases: tuple[tuple[str, ...], tuple[str, ...]] | None) -> list[str]:
    if releases is None:
        return [f"releases: {UNREADABLE}"]
    sealed, unsealed = releases
    lines = [f"releases: {', '.join(sealed) or 'none'}"]
    return lines + (
        [f"unfinished: {', '.join(unsealed)} (the next install removes them)"] if unsealed else []
    )


def _bad(entry: BadRelease) -> dict[str, str]:
    return {
        "component": entry.component,
        "release": entry.release,
        "at": entry.at,
        "reason": entry.reason,
    }


def _lines(row: ComponentStatus) -> list[str]:
    head = f"{row.name}: {'ok' if row.agrees else 'not active' if row.inactive else _doubt(row)}"
    lines = [
        head,
        f"  wanted   {row.wanted}",
        f"  linked   {row.linked} (previous {row.previous})",
        f"  running  {row.running}",
        f"  healthy  {row.healthy}",
        f"  unit     {row.unit}",
    ]
    lines += [f"  edited   {path}" for path in row.edited]
    return lines + [f"  drop-in  {path}" for path in row.drop_ins]


def _doubt(row: ComponentStatus) -> str:
    unread = UNREADABLE in {row.wanted, row.linked, row.running, row.healthy}
    return "CANNOT TELL" if unread else "NOT AS WANTED"


def _fields(row: ComponentStatus) -> dict[str, object]:
    return {
        "wanted": row.wanted,
        "linked": row.linked,
        "previous": row.previous,
        "running": row.running,
        "healthy": row.healthy,
        "unit": row.unit,
        "dropIns": list(row.drop_ins),
        "edited": list(row.edited),
        "agrees": row.agrees,
    }
