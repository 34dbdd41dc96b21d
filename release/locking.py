"""Locks: for each environment of a release, the exact wheels, pinned and hashed, kept in ``release/locks``.

``lock`` asks pip for the newest set for the target; ``read_lock`` and ``roots_of`` are what the build uses.
pip evaluates markers with the interpreter it runs on, so the set is cut down to what the target needs; the
build proves it again from the wheels.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import msgspec
from packaging.requirements import Requirement as Specifier
from packaging.utils import canonicalize_name

from installer.domain.requirements import Requirement, RequirementsError, parse_requirements
from release.closure import Target, reachable
from release.components import Need, ReleasePlan
from release.errors import ReleaseError
from release.wheels import platforms

LOCKS: Final = "release/locks"
PROJECT: Final = "pharos-hpc"


class _Hashes(msgspec.Struct):
    hashes: dict[str, str]


class _Download(msgspec.Struct):
    url: str
    archive_info: _Hashes


class _Metadata(msgspec.Struct):
    name: str
    version: str
    requires_dist: list[str] = []
    requires_python: str = ""


class _Install(msgspec.Struct):
    metadata: _Metadata
    download_info: _Download


class _Report(msgspec.Struct):
    install: list[_Install]


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    version: str
    requires: tuple[str, ...]
    requires_python: str
    file_name: str
    sha256: str


def declared(pyproject: Mapping[str, object], need: Need) -> list[str]:
    """What the extra of ``need`` asks for in pyproject.toml, and what is wanted beside it."""
    project = cast("dict[str, dict[str, list[str]]]", pyproject["project"])
    optional = project.get("optional-dependencies", {})
    common = cast("list[str]", pyproject["project"].get("dependencies", []))  # type: ignore[attr-defined]
    if need.extra not in optional:
        raise ReleaseError(
            "components_malformed",
            found=f"extra {need.extra}",
            wanted=f"one of {', '.join(optional)}",
            remedy="Mend release/components.yaml.",
        )
    return [*common, *optional[need.extra], *need.also]


def lock(source: Path, plan: ReleasePlan, pyproject: Mapping[str, object]) -> list[Path]:
    """Write the locks of every need into ``source``; the paths written."""
    written = []
    for need in plan.needs:
        path = source / LOCKS / f"{need.lock}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted = declared(pyproject, need)
        found = _resolve(wanted, plan) if wanted else []
        roots: dict[str, set[str]] = {
            canonicalize_name(specifier.name): specifier.extras for specifier in map(Specifier, wanted)
        }
        reached = reachable(found, roots, Target(plan.python, plan.architecture))
        target = f"CPython {plan.python}, {plan.architecture}"
        text = f"# {need.name}: made by 'python -m release lock' for {target}.\n"
        for entry in sorted(found, key=lambda item: item.name):
            if entry.name in reached:
                text += f"# {entry.file_name}\n{entry.name}=={entry.version} --hash=sha256:{entry.sha256}\n"
        path.write_text(text, encoding="ascii")
        written.append(path)
    return written


def read_lock(source: Path, need: Need) -> tuple[Requirement, ...]:
    """The committed lock of ``need``, empty where it needs nothing.

    Raises ReleaseError ``lock_missing``, ``lock_malformed``.
    """
    path = source / LOCKS / f"{need.lock}.txt"
    remedy = "Make it: python -m release lock, then commit it."
    try:
        text = path.read_text(encoding="ascii")
        head, _, rest = text.partition("\n")
        if head.startswith(f"# {need.name}: made by ") and not rest:
            return ()  # a component that needs nothing but our own wheel
        return parse_requirements(text)
    except FileNotFoundError as error:
        raise ReleaseError("lock_missing", found=f"no {path.name}", wanted=LOCKS, remedy=remedy) from error
    except (RequirementsError, UnicodeDecodeError) as error:
        raise ReleaseError(
            "lock_malformed", found=f"{path.name}: {error}", wanted=LOCKS, remedy=remedy
        ) from error


def check_drift(locked: Sequence[Requirement], wanted: Sequence[str], need: Need) -> None:
    """Raises ReleaseError ``lock_drift`` when pyproject.toml asks for what the lock does not hold."""
    versions = {requirement.name: requirement.version for requirement in locked}
    for text in wanted:
        specifier = Specifier(text)
        version = versions.get(canonicalize_name(specifier.name))
        if version is None or not specifier.specifier.contains(version, prereleases=True):
            raise ReleaseError(
                "lock_drift",
                found=f"{need.lock}.txt has {specifier.name} {version or 'not at all'}",
                wanted=text,
                remedy="Lock again: python -m release lock, then commit it.",
            )


def pip_target(plan: ReleasePlan) -> list[str]:
    """pip's options that describe the target instead of this machine."""
    abi = "cp" + plan.python.replace(".", "")
    options = ["--only-binary=:all:", "--implementation=cp", f"--python-version={plan.python}"]
    options += [f"--abi={name}" for name in (abi, "abi3", "none")]
    return options + [f"--platform={tag}" for tag in platforms(plan.newest_glibc, plan.architecture)]


def run_pip(*arguments: str, code: str) -> None:
    """Run this environment's pip with its configured index. Raises ReleaseError ``code`` with pip's own
    words.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
        *arguments,
    ]
    outcome = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if outcome.returncode != 0:
        raise ReleaseError(
            code,
            found=outcome.stderr.strip()[-1500:],
            wanted="pip to succeed",
            remedy="Read pip's words; a configured package index must be reachable.",
        )


def _resolve(wanted: Sequence[str], plan: ReleasePlan) -> list[_Found]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        options = ["--dry-run", "--ignore-installed", f"--report={report}", f"--target={folder}/nothing"]
        run_pip("install", *options, *pip_target(plan), *wanted, code="resolve_failed")
        found = msgspec.convert(json.loads(report.read_bytes()), _Report)
    return [_found(entry) for entry in found.install]


def _found(entry: _Install) -> _Found:
    return _Found(
        name=canonicalize_name(entry.metadata.name),
        version=entry.metadata.version,
        requires=tuple(entry.metadata.requires_dist),
        requires_python=entry.metadata.requires_python,
        file_name=entry.download_info.url.rpartition("/")[2],
        sha256=entry.download_info.archive_info.hashes["sha256"],
    )
