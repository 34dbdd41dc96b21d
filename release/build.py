"""Builds a release: clean tree → own wheel → locked wheels → closure proof → manifest → archive →
signatures.

Everything is decided before ``dist`` is touched; files appear there by rename. The same revision and
version give the same bytes, signatures aside.
"""

import hashlib
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement as Specifier
from packaging.utils import canonicalize_name

from installer.bootstrap.pip_tool import NAME as PIP
from installer.bootstrap.signature import ARCHIVE_NAMESPACE, PROVENANCE_NAMESPACE
from installer.domain.manifest import (
    MANIFEST_NAME,
    DependencyMode,
    Manifest,
    ManifestFile,
    encode,
    release_id,
)
from installer.domain.requirements import Requirement, format_requirements
from release.archive_writer import Entry, pack, read_entry
from release.closure import Target, prove
from release.components import Need, ReleasePlan, read_plan
from release.errors import ReleaseError
from release.locking import PROJECT, check_drift, declared, read_lock
from release.own_wheel import build_own_wheel
from release.signing import Keys, sign
from release.source import Source, check_out
from release.statements import provenance, sbom
from release.wheelhouse import fetch
from release.wheels import Wheel, check_platform, check_record, needed_glibc, read_wheel

SBOM = "sbom.cdx.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What to build, from which checkout, into which folder, signed with which keys."""

    repository: Path
    version: str
    dist: Path
    cache: Path
    keys: Keys
    dirty: bool = False
    dependency_mode: DependencyMode = "wheelhouse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was made."""

    archive: Path
    sha256: str
    release_id: str
    revision: str
    size: int
    signatures: tuple[Path, ...]
    provenance: Path


@dataclass(frozen=True, slots=True)
class _Wheelhouse:
    """Every wheel by name, and which environments use it."""

    wheels: Mapping[str, Wheel]
    requirements: Mapping[str, str]
    used_by: Mapping[str, list[str]]


def build(request: BuildRequest, progress: Callable[[str], None]) -> Built:
    """The release, written into ``request.dist``. Raises ReleaseError."""
    with tempfile.TemporaryDirectory(prefix="pharos-release-") as scratch:
        source = check_out(request.repository, Path(scratch, "source"), dirty=request.dirty)
        progress(f"revision {source.revision}{' with uncommitted changes' if source.dirty else ''}")
        plan = read_plan(source.folder)
        entries = _source_entries(source, plan)
        wheelhouse = _wheelhouse(source, plan, request, Path(scratch, "wheel"), progress)
        entries |= {path: Entry(text.encode("ascii")) for path, text in wheelhouse.requirements.items()}
        wheels = list(wheelhouse.wheels.values())
        for wheel in _packed(wheels, request.dependency_mode):
            entries[f"wheels/{wheel.path.name}"] = Entry(wheel.path.read_bytes())
        entries[SBOM] = Entry(sbom(wheels, wheelhouse.used_by, source, request.version))
        manifest = _manifest(entries, wheels, source, plan, request)
        manifest_bytes = encode(manifest)
        entries[MANIFEST_NAME] = Entry(manifest_bytes)
        progress(f"packing {len(entries)} files")
        packed = pack(manifest.archive_folder, entries, source.epoch)
        return _publish(
            packed=packed,
            manifest=manifest,
            manifest_bytes=manifest_bytes,
            wheels=wheels,
            source=source,
            request=request,
            progress=progress,
        )


def _source_entries(source: Source, plan: ReleasePlan) -> dict[str, Entry]:
    paths = [source.folder / name for name in plan.top_files]
    for folder in plan.folders:
        paths += [path for path in sorted((source.folder / folder).rglob("*")) if not path.is_dir()]
    return {path.relative_to(source.folder).as_posix(): read_entry(path) for path in paths}


def _wheelhouse(
    source: Source, plan: ReleasePlan, request: BuildRequest, scratch: Path, progress: Callable[[str], None]
) -> _Wheelhouse:
    progress("building our own wheel")
    pyproject = tomllib.loads((source.folder / "pyproject.toml").read_text(encoding="utf-8"))
    own = read_wheel(build_own_wheel(source, request.version, plan, scratch))
    wheels: dict[str, Wheel] = {own.name: own}
    requirements: dict[str, str] = {}
    used_by: dict[str, list[str]] = {}
    for need in plan.needs:
        locked = read_lock(source.folder, need)
        wanted = declared(pyproject, need)
        check_drift(locked, wanted, need)
        progress(f"{need.name}: {len(locked)} locked wheels")
        members = [own, *(read_wheel(path) for path in fetch(locked, plan, request.cache))]
        for wheel in members:
            check_record(wheel.path)
            check_platform(wheel, plan.python, plan.newest_glibc, plan.architecture)
            _add(wheels, wheel)
            used_by.setdefault(wheel.name, []).append(need.name)
        prove_need(need, members, plan)
        requirements[need.requirements] = format_requirements(
            Requirement(wheel.name, wheel.version, wheel.sha256) for wheel in members
        )
    return _Wheelhouse(wheels, requirements, used_by)


def _packed(wheels: Sequence[Wheel], mode: DependencyMode) -> list[Wheel]:
    """The wheels the archive holds: all, or what no index has (ours) and what asks it (pip)."""
    return [wheel for wheel in wheels if mode == "wheelhouse" or wheel.name in {PROJECT, PIP}]


def prove_need(need: Need, members: Sequence[Wheel], plan: ReleasePlan) -> None:
    """The closure proof of one environment. Raises ReleaseError ``closure_incomplete``."""
    roots: dict[str, set[str]] = {canonicalize_name(Specifier(text).name): set() for text in need.also}
    roots[PROJECT] = {need.extra}
    prove(members, roots, Target(plan.python, plan.architecture), plan.overrides)


def _add(wheels: dict[str, Wheel], wheel: Wheel) -> None:
    """One version of a distribution in a release: two environments may not disagree (row 20)."""
    other = wheels.setdefault(wheel.name, wheel)
    if other.sha256 != wheel.sha256:
        raise ReleaseError(
            "lock_drift",
            found=f"{other.path.name} and {wheel.path.name}, in two locks",
            wanted=f"one wheel of {wheel.name} in a release",
            remedy="Lock again: python -m release lock.",
        )


def _manifest(
    entries: Mapping[str, Entry],
    wheels: Sequence[Wheel],
    source: Source,
    plan: ReleasePlan,
    request: BuildRequest,
) -> Manifest:
    major, minor = needed_glibc(wheels)
    return Manifest(
        version=request.version,
        revision=source.revision,
        built_at=source.built_at,
        dependency_mode=request.dependency_mode,
        architecture=plan.architecture,
        python=plan.python,
        glibc=f"{major}.{minor}",
        files=tuple(
            ManifestFile(path, hashlib.sha256(entry.data).hexdigest(), len(entry.data), entry.mode)
            for path, entry in sorted(entries.items())
        ),
        components=plan.components,
        controller_requirements=next(need.requirements for need in plan.needs if need.name == "controller"),
        overrides=plan.overrides,
        contracts=plan.contracts,
        dirty=source.dirty,
    )


def _publish(
    *,
    packed: bytes,
    manifest: Manifest,
    manifest_bytes: bytes,
    wheels: Sequence[Wheel],
    source: Source,
    request: BuildRequest,
    progress: Callable[[str], None],
) -> Built:
    digest = hashlib.sha256(packed).hexdigest()
    archive = request.dist / f"{manifest.archive_folder}.tar.gz"
    statement = archive.with_name(f"{archive.name}.provenance.json")
    request.dist.mkdir(parents=True, exist_ok=True)
    _write(archive, packed)
    _write(
        statement,
        provenance(archive.name, digest, wheels, source, request.version, mode=manifest.dependency_mode),
    )
    progress("signing")
    signatures = [
        *sign(archive, request.keys, ARCHIVE_NAMESPACE),
        *sign(statement, request.keys, PROVENANCE_NAMESPACE),
    ]
    return Built(
        archive=archive,
        sha256=digest,
        release_id=release_id(manifest_bytes, manifest.version),
        revision=source.revision,
        size=len(packed),
        signatures=tuple(signatures),
        provenance=statement,
    )


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(data)
    temporary.chmod(0o644)
    temporary.replace(path)
