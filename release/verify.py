"""Verifies a release as its maker and its reviewer do: all the bootstrap checks, and what only they can
see.

1. ``installer.bootstrap.archive``: signature, gzip, members, manifest, requirements.
2. Each environment's closure, proved again from the wheels inside; in dependency mode index the build alone
   had them all.
3. The SBOM lists exactly the wheels, or what the requirements name.
4. The provenance is signed in its own namespace; its subject is this archive, its revision and version the
   manifest's.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from packaging.utils import canonicalize_name

from installer.bootstrap.archive import WHEELS, VerifiedArchive, open_verified
from installer.bootstrap.inputs import Trust, open_input
from installer.bootstrap.signature import PROVENANCE_NAMESPACE, sealed_copy, verify_signatures
from installer.domain.requirements import parse_requirements
from installer.domain.strict_json import StrictJsonError, decode_object
from release.build import SBOM
from release.closure import Target, prove
from release.errors import ReleaseError
from release.locking import PROJECT
from release.wheels import Wheel, check_platform, read_wheel

_STATEMENT_LIMIT: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Verified:
    """What was shown to hold."""

    release_id: str
    sha256: str
    revision: str
    signers: tuple[str, ...]
    wheels: int
    dirty: bool


def verify(archive_path: Path, allowed_signers: Path, trust: Trust) -> Verified:
    """Raises installer.domain.refusal.Refusal or ReleaseError for the first rule that does not hold."""
    with (
        open_verified(archive_path, allowed_signers=allowed_signers, trust=trust) as archive,
        tempfile.TemporaryDirectory(prefix="pharos-verify-") as scratch,
    ):
        archive.extract(archive.paths(WHEELS), Path(scratch))
        wheels = {path: read_wheel(Path(scratch, path)) for path in archive.paths(WHEELS)}
        _check_closures(archive, wheels)
        _check_sbom(archive, wheels)
        _check_provenance(archive, allowed_signers, trust)
        return Verified(
            release_id=archive.release_id,
            sha256=archive.sha256,
            revision=archive.manifest.revision,
            signers=tuple(sorted({signature.principal for signature in archive.signatures})),
            wheels=len(wheels),
            dirty=archive.manifest.dirty,
        )


def _check_closures(archive: VerifiedArchive, wheels: dict[str, Wheel]) -> None:
    manifest = archive.manifest
    major, minor = (int(part) for part in manifest.glibc.split("."))
    for wheel in wheels.values():
        check_platform(wheel, manifest.python, (major, minor), manifest.architecture)
    needs = {"controller": manifest.controller_requirements}
    needs |= {name: component.requirements for name, component in manifest.components.items()}
    for name, requirements in needs.items():
        if manifest.dependency_mode == "index":
            continue  # proved at the build, where the wheels were; pip check proves it again on the host
        members = [wheels[path] for path in archive.wheels_of(requirements)]
        extra = "installer" if name == "controller" else name
        roots: dict[str, set[str]] = {PROJECT: {canonicalize_name(extra)}}
        if name == "controller":
            roots["pip"] = set()
        prove(members, roots, Target(manifest.python, manifest.architecture), manifest.overrides)


def _check_sbom(archive: VerifiedArchive, wheels: dict[str, Wheel]) -> None:
    listed = set()
    for component in cast("list[dict[str, object]]", _object(archive.read(SBOM), SBOM).get("components", [])):
        hashes = cast("list[dict[str, str]]", component["hashes"])
        listed.add((component["name"], component["version"], hashes[0]["content"]))
    needed = {(wheel.name, wheel.version, wheel.sha256) for wheel in wheels.values()}
    if archive.manifest.dependency_mode == "index":
        needed |= _required(archive)
    if listed != needed:
        raise _mismatch("the SBOM lists other wheels than the release has", "exactly the release's wheels")


def _required(archive: VerifiedArchive) -> set[tuple[str, str, str]]:
    """Every wheel the requirements files name, by name, version and digest."""
    manifest = archive.manifest
    files = [manifest.controller_requirements, *(c.requirements for c in manifest.components.values())]
    return {
        (entry.name, entry.version, entry.sha256)
        for path in files
        for entry in parse_requirements(archive.read(path).decode("ascii"))
    }


def _check_provenance(archive: VerifiedArchive, allowed_signers: Path, trust: Trust) -> None:
    path = archive.path.with_name(f"{archive.path.name}.provenance.json")
    source = open_input(path, what="the provenance", size_limit=_STATEMENT_LIMIT, trust=trust)
    with os.fdopen(source, "rb") as file:
        data = file.read()
    with os.fdopen(sealed_copy("provenance", data), "rb") as message:
        verify_signatures(
            message.fileno(),
            path,
            namespace=PROVENANCE_NAMESPACE,
            allowed_signers=allowed_signers,
            trust=trust,
        )
    statement = _object(data, path.name)
    subject = [{"name": archive.path.name, "digest": {"sha256": archive.sha256}}]
    if statement.get("subject") != subject:
        raise _mismatch("the provenance is about another archive", archive.sha256)
    predicate = cast("dict[str, dict[str, object]]", statement.get("predicate"))
    wanted = {
        "version": archive.manifest.version,
        "revision": archive.manifest.revision,
        "dirty": archive.manifest.dirty,
        "dependencyMode": archive.manifest.dependency_mode,
    }
    if predicate["buildDefinition"]["externalParameters"] != wanted:
        raise _mismatch("the provenance names another revision or version", archive.manifest.revision)


def _object(data: bytes, name: str) -> dict[str, object]:
    try:
        return decode_object(data)
    except StrictJsonError as error:
        raise _mismatch(f"{name}: {error}", "strict JSON") from error


def _mismatch(found: str, wanted: str) -> ReleaseError:
    return ReleaseError(
        "provenance_mismatch", found=found, wanted=wanted, remedy="Fetch or build the release again."
    )
