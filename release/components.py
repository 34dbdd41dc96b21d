"""Reads ``release/components.yaml``: which components a release has and what each needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import yaml

from installer.domain.manifest import Component, JournalSchemas, Override
from release.errors import ReleaseError

COMPONENTS_FILE: Final = "release/components.yaml"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Unknown keys are refused."""


class _JournalSchemas(_Strict, frozen=True):
    reads: list[int]
    writes: int


class _Component(_Strict, frozen=True):
    extra: str
    lock: str
    console_script: str
    unit: str
    user: str
    journal_schemas: _JournalSchemas
    contracts: list[str]


class _Controller(_Strict, frozen=True):
    extra: str
    lock: str
    also: list[str]


class _Override(_Strict, frozen=True):
    package: str
    field: str
    recorded: str
    reason: str


class _File(_Strict, frozen=True):
    schema: int
    architecture: str
    python: str
    newest_glibc: str
    top_files: list[str]
    folders: list[str]
    site_packages: list[str]
    controller: _Controller
    components: dict[str, _Component]
    contracts: dict[str, str]
    overrides: list[_Override]


@dataclass(frozen=True, slots=True)
class Need:
    """One environment: the extra of our own wheel, its lock's name, and distributions wanted beside it."""

    name: str
    extra: str
    lock: str
    also: tuple[str, ...] = ()

    @property
    def requirements(self) -> str:
        """Where its requirements file lies in the archive."""
        return f"requirements/{self.name}.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """The whole file, checked."""

    architecture: str
    python: str
    newest_glibc: tuple[int, int]
    top_files: tuple[str, ...]
    folders: tuple[str, ...]
    site_packages: tuple[str, ...]
    needs: tuple[Need, ...]
    components: Mapping[str, Component]
    contracts: Mapping[str, str]
    overrides: tuple[Override, ...]


def read_plan(source: Path) -> ReleasePlan:
    """The plan in the source tree ``source``. Raises ReleaseError ``components_malformed``."""
    path = source / COMPONENTS_FILE
    try:
        found = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), _File)
        major, minor = (int(part) for part in found.newest_glibc.split("."))
    except (OSError, yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
        raise ReleaseError(
            "components_malformed", found=f"{path}: {error}", wanted="schema 1", remedy="Mend the file."
        ) from error
    needs = [Need("controller", found.controller.extra, found.controller.lock, tuple(found.controller.also))]
    needs += [Need(name, entry.extra, entry.lock) for name, entry in sorted(found.components.items())]
    return ReleasePlan(
        architecture=found.architecture,
        python=found.python,
        newest_glibc=(major, minor),
        top_files=tuple(found.top_files),
        folders=tuple(found.folders),
        site_packages=tuple(found.site_packages),
        needs=tuple(needs),
        components={name: _component(name, entry) for name, entry in sorted(found.components.items())},
        contracts=found.contracts,
        overrides=tuple(Override(o.package, o.field, o.recorded, o.reason) for o in found.overrides),
    )


def _component(name: str, entry: _Component) -> Component:
    return Component(
        name=name,
        requirements=f"requirements/{name}.txt",
        console_script=entry.console_script,
        unit=entry.unit,
        user=entry.user,
        journal_schemas=JournalSchemas(tuple(entry.journal_schemas.reads), entry.journal_schemas.writes),
        contracts=tuple(entry.contracts),
    )
