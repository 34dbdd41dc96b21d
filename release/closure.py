"""Proves that a set of distributions is complete for the target: nothing missing, nothing unneeded (I5; B8,
B9).

From the roots, every ``Requires-Dist`` of every wheel is evaluated with the target's markers, extras
included. Each must be met by a member of the set, or be exactly a recorded override; each member must be
reached; each recorded override that touches the set must have been used. Deciding from metadata alone means
the proof needs neither network nor the target.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from installer.domain.manifest import Override
from release.errors import ReleaseError


class Distribution(Protocol):
    """What the proof must know of one wheel."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def requires(self) -> tuple[str, ...]: ...
    @property
    def requires_python(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Target:
    """The hosts a release is for."""

    python: str
    architecture: str

    def markers(self) -> dict[str, str]:
        """The marker environment of such a host (dependency specifiers, environment markers)."""
        here = dict.fromkeys(default_environment(), "")
        return here | {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.architecture,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


@dataclass(slots=True)
class _Walk:
    """The state of one proof: extras already followed, overrides that were needed, faults."""

    members: Mapping[str, Distribution]
    target: Target
    overrides: Sequence[Override]
    followed: set[tuple[str, str]] = field(default_factory=set)
    used: set[Override] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def follow(self, name: str, extras: Iterable[str]) -> None:
        """Follow ``name`` with ``extras``, each once."""
        member = self.members[name]
        for extra in ("", *sorted(extras)):
            if (name, extra) in self.followed:
                continue
            self.followed.add((name, extra))
            for text in member.requires:
                self._requirement(member, text, extra)

    def _requirement(self, member: Distribution, text: str, extra: str) -> None:
        try:
            wanted = Requirement(text)
        except InvalidRequirement as error:
            self.faults.append(f"{member.name}: {error}")
            return
        markers = {**self.target.markers(), "extra": extra}
        applies = wanted.marker is None or wanted.marker.evaluate(markers)
        if not applies or (extra and wanted.marker is None):
            return
        name = canonicalize_name(wanted.name)
        found = self.members.get(name)
        if found is None or not wanted.specifier.contains(found.version, prereleases=True):
            has = "is missing" if found is None else f"is {found.version}"
            if not self._overridden(member, wanted, found):
                self.faults.append(f"{member.name} {member.version} needs {wanted}, which {has}")
        if found is not None:
            self.follow(name, wanted.extras)

    def _overridden(self, member: Distribution, wanted: Requirement, found: Distribution | None) -> bool:
        recorded = f"{found.name}=={found.version}" if found is not None else "absent"
        for override in self.overrides:
            same = canonicalize_name(override.package) == member.name and override.field == str(wanted)
            if same and override.recorded == recorded:
                self.used.add(override)
                return True
        return False


def prove(
    members: Iterable[Distribution],
    roots: Mapping[str, Iterable[str]],
    target: Target,
    overrides: Sequence[Override] = (),
) -> set[Override]:
    """The overrides that were needed. ``roots`` is name to extras. Raises ReleaseError
    ``closure_incomplete``.
    """
    by_name: dict[str, Distribution] = {}
    faults: list[str] = []
    for member in members:
        if member.name in by_name:
            faults.append(f"{member.name} twice: {by_name[member.name].version} and {member.version}")
        if member.requires_python and not SpecifierSet(member.requires_python).contains(target.python):
            faults.append(f"{member.name} {member.version} needs Python {member.requires_python}")
        by_name[member.name] = member
    walk = _Walk(by_name, target, overrides, faults=faults)
    for name, extras in roots.items():
        if name in by_name:
            walk.follow(name, extras)
        else:
            walk.faults.append(f"{name} is missing")
    reached = {name for name, _ in walk.followed}
    walk.faults += [f"{name} is needed by nothing" for name in sorted(by_name.keys() - reached)]
    if walk.faults:
        raise ReleaseError(
            "closure_incomplete",
            found="; ".join(walk.faults),
            wanted="exactly what the roots need, or a recorded override",
            remedy="Lock again (python -m release lock), or record an override with its reason.",
        )
    return walk.used


def reachable(
    members: Iterable[Distribution], roots: Mapping[str, Iterable[str]], target: Target
) -> set[str]:
    """The names the roots need on the target; missing ones are left to ``prove``."""
    walk = _Walk({member.name: member for member in members}, target, ())
    for name, extras in roots.items():
        if name in walk.members:
            walk.follow(name, extras)
    return {name for name, _ in walk.followed}
