"""The release manifest, schema 1: what an archive holds, what each component needs, which contracts it
implements.

Bytes in, values out; standard library only, because the bootstrap reads a manifest before anything is
installed. Unknown or missing keys, wrong types, duplicate keys and NaN are refused (X4). ``dirty`` is
written only when true: such a manifest comes from an unreviewed tree, and a production profile refuses it
(I2, I4).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from installer.domain.decoding import Fields, ManifestError
from installer.domain.members import MODES, name_fault, names_fault
from installer.domain.strict_json import StrictJsonError, decode_object, encode_canonical

SCHEMA: Final = 1
MANIFEST_NAME: Final = "manifest.json"

DependencyMode = Literal["wheelhouse", "index"]

_VERSION: Final = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_REVISION: Final = re.compile(r"[0-9a-f]{40}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_COMPONENT: Final = re.compile(r"[a-z][a-z0-9-]{0,40}")
_OURS: Final = re.compile(r"pharos-[a-z][a-z0-9-]{0,40}")
_UNIT: Final = re.compile(r"pharos-[a-z][a-z0-9-]{0,40}\.service")
_GLIBC: Final = re.compile(r"2\.\d{1,3}")


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """One file of the archive; ``path`` relative to its top folder, ``mode`` 0o644 or 0o755."""

    path: str
    sha256: str
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class JournalSchemas:
    """Journal schemas this release can read, and the one it writes (row 36: asked before a rollback)."""

    reads: tuple[int, ...]
    writes: int


@dataclass(frozen=True, slots=True)
class Component:
    """What the installer must know of one component.

    Its unit, user and program are named ``pharos-…``, whoever signed: a release can name no unit, identity or
    program of the host's own (I7, I10).
    """

    name: str
    requirements: str
    console_script: str
    unit: str
    user: str
    journal_schemas: JournalSchemas
    contracts: tuple[str, ...]

    @property
    def unit_template(self) -> str:
        """Where the archive holds the template of ``unit``."""
        return f"units/{self.unit}.j2"


@dataclass(frozen=True, slots=True)
class Override:
    """A deviation from an upstream pin (I5): ``package``'s metadata says ``field``, we ship ``recorded``
    instead.
    """

    package: str
    field: str
    recorded: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The whole manifest. ``built_at`` is the revision's commit time, as RFC 3339 in UTC."""

    version: str
    revision: str
    built_at: str
    dependency_mode: DependencyMode
    architecture: str
    python: str
    glibc: str
    files: tuple[ManifestFile, ...]
    components: Mapping[str, Component]
    controller_requirements: str
    overrides: tuple[Override, ...]
    contracts: Mapping[str, str]
    dirty: bool = False

    def file(self, path: str) -> ManifestFile | None:
        """The entry of ``path``, or None when the archive has no such file."""
        return next((entry for entry in self.files if entry.path == path), None)

    @property
    def archive_folder(self) -> str:
        """The one folder at the top of the archive."""
        return f"pharos-hpc-site-v{self.version}"


def release_id(manifest_bytes: bytes, version: str) -> str:
    """``<version>-<first 12 hex of the manifest's SHA-256>``: a release's name everywhere on a host."""
    return f"{version}-{hashlib.sha256(manifest_bytes).hexdigest()[:12]}"


def is_version(text: str) -> bool:
    """Whether ``text`` is MAJOR.MINOR.PATCH as an archive's name carries it (I2)."""
    return _VERSION.fullmatch(text) is not None


def decode(data: bytes) -> Manifest:
    """The manifest in ``data``. Raises ManifestError, which names the place and never quotes a value at
    length.
    """
    try:
        fields = Fields("manifest", decode_object(data))
    except StrictJsonError as error:
        raise ManifestError(f"manifest: {error}") from error
    schema = fields.integer("schema")
    if schema != SCHEMA:
        raise ManifestError(f"manifest: schema {schema}, this installer reads {SCHEMA}")
    dirty = fields.has("dirty") and fields.boolean("dirty")
    mode = fields.one_of("dependencyMode", ("wheelhouse", "index"))
    manifest = Manifest(
        version=fields.matching("version", _VERSION),
        revision=fields.matching("revision", _REVISION),
        built_at=_time(fields.matching("builtAt", _TIME)),
        dependency_mode="wheelhouse" if mode == "wheelhouse" else "index",
        architecture=fields.one_of("architecture", ("x86_64",)),
        python=fields.one_of("python", ("3.13",)),
        glibc=fields.matching("glibc", _GLIBC),
        files=tuple(_file(entry) for entry in fields.inner_list("files")),
        components={name: _component(name, entry) for name, entry in fields.named("components", _COMPONENT)},
        controller_requirements=_controller(fields.inner("controller")),
        overrides=tuple(_override(entry) for entry in fields.inner_list("overrides")),
        contracts={name: fields.label(name, value) for name, value in fields.mapping("contracts", _NAME)},
        dirty=dirty,
    )
    fields.finish()
    _refuse_inconsistent(manifest)
    return manifest


def encode(manifest: Manifest) -> bytes:
    """The canonical bytes of ``manifest``; ``decode(encode(m)) == m``."""
    value: dict[str, object] = {
        "schema": SCHEMA,
        "version": manifest.version,
        "revision": manifest.revision,
        "builtAt": manifest.built_at,
        "dependencyMode": manifest.dependency_mode,
        "architecture": manifest.architecture,
        "python": manifest.python,
        "glibc": manifest.glibc,
        "files": [
            {"path": f.path, "sha256": f.sha256, "size": f.size, "mode": f"{f.mode:04o}"}
            for f in manifest.files
        ],
        "components": {name: _component_fields(entry) for name, entry in manifest.components.items()},
        "controller": {"requirements": manifest.controller_requirements},
        "overrides": [
            {"package": o.package, "field": o.field, "recorded": o.recorded, "reason": o.reason}
            for o in manifest.overrides
        ],
        "contracts": dict(manifest.contracts),
    }
    if manifest.dirty:
        value["dirty"] = True
    return encode_canonical(value)


def differences(files: Iterable[ManifestFile], found: Iterable[ManifestFile]) -> list[str]:
    """How ``found`` differs from the manifest's ``files``: one line a path, sorted; empty when they are
    equal (H08).
    """
    wanted_by_path = {entry.path: entry for entry in files}
    found_by_path = {entry.path: entry for entry in found}
    lines = [f"missing: {path}" for path in wanted_by_path.keys() - found_by_path.keys()]
    lines += [f"not in the manifest: {path}" for path in found_by_path.keys() - wanted_by_path.keys()]
    for path in wanted_by_path.keys() & found_by_path.keys():
        wanted, got = wanted_by_path[path], found_by_path[path]
        if (wanted.sha256, wanted.size) != (got.sha256, got.size):
            lines.append(f"changed: {path}")
        elif wanted.mode != got.mode:
            lines.append(f"mode {got.mode:04o} instead of {wanted.mode:04o}: {path}")
    return sorted(lines)


def _file(entry: Fields) -> ManifestFile:
    mode = int(entry.matching("mode", re.compile(r"0[0-7]{3}")), 8)
    if mode not in MODES:
        raise ManifestError(f"{entry.where}: mode {mode:04o}")
    result = ManifestFile(
        _path(entry, "path"), entry.matching("sha256", _SHA256), entry.integer("size"), mode
    )
    entry.finish()
    return result


def _component(name: str, entry: Fields) -> Component:
    journal = entry.inner("journalSchemas")
    result = Component(
        name=name,
        requirements=_path(entry, "requirements"),
        console_script=entry.matching("consoleScript", _OURS),
        unit=entry.matching("unit", _UNIT),
        user=entry.matching("user", _OURS),
        journal_schemas=JournalSchemas(journal.integers("reads"), journal.integer("writes")),
        contracts=entry.texts("contracts", _NAME),
    )
    journal.finish()
    entry.finish()
    return result


def _component_fields(component: Component) -> dict[str, object]:
    return {
        "requirements": component.requirements,
        "consoleScript": component.console_script,
        "unit": component.unit,
        "user": component.user,
        "journalSchemas": {
            "reads": list(component.journal_schemas.reads),
            "writes": component.journal_schemas.writes,
        },
        "contracts": list(component.contracts),
    }


def _controller(entry: Fields) -> str:
    requirements = _path(entry, "requirements")
    entry.finish()
    return requirements


def _override(entry: Fields) -> Override:
    result = Override(*(entry.text(key) for key in ("package", "field", "recorded", "reason")))
    entry.finish()
    return result


def _path(entry: Fields, key: str) -> str:
    path = entry.text(key)
    reason = name_fault(path)
    if reason is not None:
        raise ManifestError(f"{entry.where}.{key}: {reason}")
    return path


def _time(text: str) -> str:
    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise ManifestError("manifest.builtAt: not a time") from error
    return text


def _refuse_inconsistent(manifest: Manifest) -> None:
    """Files unique and sorted, without the manifest itself; every file a component names is there."""
    paths = [entry.path for entry in manifest.files]
    reason = names_fault([*paths, MANIFEST_NAME])
    if reason is not None:
        raise ManifestError(f"manifest.files: {reason}")
    if paths != sorted(paths):
        raise ManifestError("manifest.files: not sorted by path")
    named = [("controller", manifest.controller_requirements)]
    for component in manifest.components.values():
        named += [(component.name, component.requirements), (component.name, component.unit_template)]
        if component.journal_schemas.writes not in component.journal_schemas.reads:
            raise ManifestError(f"{component.name}: writes a journal schema that it does not read")
        unknown = sorted(set(component.contracts) - manifest.contracts.keys())
        if unknown:
            raise ManifestError(f"{component.name}: contract {unknown[0]} has no revision")
    for owner, path in named:
        if path not in paths:
            raise ManifestError(f"{owner}: {path} is not among the files")
