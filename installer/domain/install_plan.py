"""Steps of ``install`` as data: what stands on the host decides which are left; none starts or links
anything (I1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from installer.domain.files import FileText

Standing = Literal["absent", "unfinished", "sealed", "damaged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRelease:
    """Remove a release folder that is unfinished, or damaged and linked by nothing."""

    release: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRelease:
    """Lay down, build and seal the release. Undone by removing the unsealed folder."""

    release: str
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceHostFile:
    """Write a file for systemd-sysusers or systemd-tmpfiles."""

    path: str
    file: FileText


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyHostFile:
    """Let systemd-sysusers or systemd-tmpfiles make what is missing; they change nothing that exists."""

    tool: Literal["systemd-sysusers", "systemd-tmpfiles"]
    path: str


InstallAction = RemoveRelease | BuildRelease | PlaceHostFile | ApplyHostFile


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallFacts:
    """What was observed."""

    release: str
    components: tuple[str, ...]
    standing: Standing
    unfinished: Sequence[str]
    """Other release folders without a seal."""
    host_files: Sequence[tuple[PlaceHostFile, FileText | None]]
    """Each file wanted, and what is there now."""
    missing_users: Sequence[str]


def install_plan(facts: InstallFacts) -> tuple[InstallAction, ...]:
    """The steps that are left; empty when everything is as wanted."""
    actions: list[InstallAction] = [
        RemoveRelease(release=name, why="it was never finished")
        for name in facts.unfinished
        if name != facts.release
    ]
    if facts.standing in {"unfinished", "damaged"}:
        why = (
            "it was never finished"
            if facts.standing == "unfinished"
            else "it was changed after it was sealed"
        )
        actions.append(RemoveRelease(release=facts.release, why=why))
    if facts.standing != "sealed":
        actions.append(BuildRelease(release=facts.release, components=facts.components))
    for wanted, found in facts.host_files:
        tool: Literal["systemd-sysusers", "systemd-tmpfiles"] = (
            "systemd-sysusers" if "/sysusers.d/" in wanted.path else "systemd-tmpfiles"
        )
        if found != wanted.file:
            actions.append(wanted)
        if found != wanted.file or (tool == "systemd-sysusers" and facts.missing_users):
            actions.append(ApplyHostFile(tool=tool, path=wanted.path))
    return tuple(actions)


def describe_install(action: InstallAction) -> str:
    """One line for a human."""
    match action:
        case RemoveRelease():
            return f"remove release folder {action.release}: {action.why}"
        case BuildRelease():
            return f"build and seal release {action.release} ({', '.join(action.components)})"
        case PlaceHostFile():
            return f"write {action.path}"
        case ApplyHostFile():
            return f"{action.tool} {action.path}: make what is missing"
