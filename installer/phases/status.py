"""``status``: for each component what is wanted, linked, running and healthy; changes nothing, needs no
lock.
"""

from dataclasses import dataclass

from installer.domain.activation import linked_release
from installer.domain.refusal import Refusal
from installer.domain.state import State
from installer.host.context import Host
from installer.host.links import component_link
from installer.host.observe import observe_component, reported_status
from installer.host.systemd import ServiceError
from installer.phases.outcome import Outcome
from installer.phases.rendering import edited_files
from installer.steps.perform import component_says


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


def status(host: Host, components: tuple[str, ...]) -> Outcome:
    """Everything known; unreadable facts are told as such."""
    problems: list[str] = []
    state = _state(host, problems)
    open_operation = _open(host, problems)
    rows = [_component(host, name, state) for name in components]
    sealed, unsealed = _releases(host, problems)
    lines = [line for row in rows for line in _lines(row)]
    lines.append(f"releases: {', '.join(sealed) or 'none'}")
    if unsealed:
        lines.append(f"unfinished: {', '.join(unsealed)} (the next install removes them)")
    lines += [f"bad: {b.component} {b.release} since {b.at}: {b.reason}" for b in state.bad]
    if open_operation:
        lines.append(f"UNFINISHED {open_operation}: run `pharos-installer recover`")
    lines += [f"unreadable: {problem}" for problem in problems]
    fields: dict[str, object] = {
        "components": {row.name: _fields(row) for row in rows},
        "releases": list(sealed),
        "unfinishedReleases": list(unsealed),
        "openOperation": open_operation,
        "bad": [
            {"component": b.component, "release": b.release, "at": b.at, "reason": b.reason}
            for b in state.bad
        ],
        "problems": problems,
    }
    return Outcome(text="\n".join(lines), fields=fields)


def _state(host: Host, problems: list[str]) -> State:
    try:
        return host.state.read()
    except Refusal as refusal:
        problems.append(str(refusal))
        return State()


def _open(host: Host, problems: list[str]) -> str | None:
    try:
        journal = host.journal.read()
    except Refusal as refusal:
        problems.append(str(refusal))
        return None
    if journal is None or journal.closed or journal.operation is None:
        return None
    return f"{journal.operation.phase} {journal.operation.id}"


def _releases(host: Host, problems: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        return host.releases.sealed(), host.releases.unsealed()
    except (Refusal, OSError) as error:
        problems.append(str(error))
        return (), ()


def _component(host: Host, name: str, state: State) -> ComponentStatus:
    record = state.components.get(name)
    linked = _link(host, name, "current")
    unit = _unit_name(host, name, linked)
    words, drop_ins, active = _unit(host, unit)
    reported = reported_status(host, name) if active else "<not running>"
    running = f"<{reported.strip('<>')}>" if isinstance(reported, str) else reported.release
    return ComponentStatus(
        name=name,
        wanted=record.release if record is not None else "none",
        linked=linked,
        previous=_link(host, name, "previous"),
        running=running if active else "none",
        unit=words,
        healthy=_healthy(host, name, linked) if active else "no",
        drop_ins=drop_ins,
        edited=_edited(host, name, unit, state),
    )


def _edited(host: Host, name: str, unit: str, state: State) -> tuple[str, ...]:
    try:
        seen = observe_component(host, name=name, unit=unit, state=state)
        return edited_files(host, None, name, seen, unit)
    except (Refusal, OSError) as error:
        return (f"<{error}>",)


def _link(host: Host, name: str, which: str) -> str:
    try:
        target = component_link(host.paths, name, "current" if which == "current" else "previous")
        return linked_release(target, name) or "none"
    except Refusal as refusal:
        return f"<{refusal.found}>"


def _unit_name(host: Host, name: str, linked: str) -> str:
    """The linked release's unit; the seam's name while nothing is linked."""
    try:
        return host.releases.manifest_of(linked).component(name).unit
    except Refusal:
        return f"pharos-{name}.service"


def _unit(host: Host, unit: str) -> tuple[str, tuple[str, ...], bool]:
    try:
        seen = host.services.show(unit)
    except ServiceError as error:
        return f"<{error}>", (), False
    return f"{seen.active} ({seen.sub}), {seen.file_state or 'no unit file'}", seen.drop_ins, seen.runs


def _healthy(host: Host, name: str, linked: str) -> str:
    """What the component's own ``status`` verb answers, asked as its identity."""
    problem = component_says(host, name, linked)
    return "yes" if problem is None else f"no ({problem})"


def _lines(row: ComponentStatus) -> list[str]:
    head = f"{row.name}: {'ok' if row.agrees else 'NOT AS WANTED' if row.wanted != 'none' else 'not active'}"
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
