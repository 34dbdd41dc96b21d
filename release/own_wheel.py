"""Builds our own wheel in the clean tree: the same bytes for the same revision and version (B16)."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

from release.components import ReleasePlan
from release.errors import ReleaseError
from release.source import EPOCH_VARIABLE, Source

_HATCH: Final = "hatch.toml"  # where it names a table, hatchling prefers it to pyproject's


def site_project(whole: Mapping[str, Any], packages: Sequence[str], extras: Set[str]) -> str:
    """The ``pyproject.toml`` of a wheel of ``packages``: of the checkout's the same, but for the programs of
    other packages and the extras beside ``extras``.
    """
    project = dict(whole["project"])
    scripts = {
        name: target
        for name, target in project.pop("scripts", {}).items()
        if target.partition(":")[0].partition(".")[0] in packages
    }
    kept = {
        name: wanted for name, wanted in project.pop("optional-dependencies", {}).items() if name in extras
    }
    tables: dict[str, Mapping[str, Any]] = {
        "build-system": whole["build-system"],
        "project": project,
        "project.optional-dependencies": kept,
        "project.scripts": scripts,
        "tool.hatch.version": whole["tool"]["hatch"]["version"],
    }
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    """A TOML table of texts and lists of texts, whose JSON form is TOML too (TOML 1.0, basic strings)."""
    lines = [f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=True)}" for key, value in values.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def build_own_wheel(source: Source, version: str, plan: ReleasePlan, destination: Path) -> Path:
    """A wheel of the plan's top packages alone, of which a checkout's own wheel holds more; it declares the
    programs and extras of those and no other.

    Writes ``release/VERSION``, ``pyproject.toml`` and ``hatch.toml`` in the clean tree. Raises ReleaseError
    ``wheel_build_failed``.
    """
    packages = plan.site_packages
    (source.folder / "release" / "VERSION").write_text(f"{version}\n", encoding="ascii")
    project = source.folder / "pyproject.toml"
    if project.exists():
        whole = tomllib.loads(project.read_text(encoding="utf-8"))
        extras = {need.extra for need in plan.needs}
        project.write_text(site_project(whole, packages, extras), encoding="utf-8")
    (source.folder / _HATCH).write_text(
        f"[build.targets.wheel]\npackages = {json.dumps(list(packages))}\n", encoding="ascii"
    )
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TZ": "UTC",
        EPOCH_VARIABLE: str(source.epoch),
    }
    outcome = subprocess.run(
        [sys.executable, "-I", "-m", "hatchling", "build", "-t", "wheel", "-d", os.fspath(destination)],
        cwd=source.folder,
        env=environment,
        umask=0o022,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    built = sorted(destination.glob("*.whl"))
    if outcome.returncode != 0 or len(built) != 1:
        raise ReleaseError(
            "wheel_build_failed",
            found=(outcome.stdout + outcome.stderr).strip()[-1500:],
            wanted="one wheel",
            remedy="Read hatchling's words; the development environment needs hatchling.",
        )
    return built[0]
