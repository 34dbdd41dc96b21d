"""What a release says of itself for machines: an SBOM inside the archive, a provenance statement beside it.

Both are canonical JSON without a clock or random number, so they are reproducible too. Sources: CycloneDX
1.5; in-toto Statement v1; SLSA provenance v1.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence

from installer.domain.manifest import DependencyMode
from installer.domain.strict_json import encode_canonical
from release.locking import PROJECT
from release.source import Source
from release.wheels import Wheel

_NAMESPACE = uuid.UUID("6d1f1f5c-7a0e-5a0b-9d3e-2c8a4f1b7e60")
BUILD_TYPE = "urn:pharos-hpc:release-build:1"


def sbom(
    wheels: Sequence[Wheel], used_by: Mapping[str, Iterable[str]], source: Source, version: str
) -> bytes:
    """CycloneDX 1.5: every wheel, its hash, and the environments it is in (``used_by``: wheel name to
    those).
    """
    components = [
        _component(wheel, sorted(used_by[wheel.name])) for wheel in sorted(wheels, key=lambda w: w.name)
    ]
    root = {
        "type": "application",
        "bom-ref": f"{PROJECT}-site@{version}",
        "name": f"{PROJECT}-site",
        "version": version,
    }
    seed = hashlib.sha256(encode_canonical([root, components, source.revision])).hexdigest()
    return encode_canonical(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, seed)}",
            "version": 1,
            "metadata": {"timestamp": source.built_at, "component": root},
            "components": components,
        }
    )


def provenance(
    archive_name: str,
    archive_sha256: str,
    wheels: Sequence[Wheel],
    source: Source,
    version: str,
    *,
    mode: DependencyMode = "wheelhouse",
) -> bytes:
    """in-toto: the archive is the subject; the revision and every wheel that was fetched are materials."""
    materials: list[dict[str, object]] = [{"name": "source", "digest": {"gitCommit": source.revision}}]
    materials += [
        {"name": wheel.path.name, "digest": {"sha256": wheel.sha256}}
        for wheel in sorted(wheels, key=lambda wheel: wheel.path.name)
    ]
    return encode_canonical(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": archive_name, "digest": {"sha256": archive_sha256}}],
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": {
                        "version": version,
                        "revision": source.revision,
                        "dirty": source.dirty,
                        "dependencyMode": mode,
                    },
                    "resolvedDependencies": materials,
                },
                "runDetails": {"builder": {"id": "urn:pharos-hpc:builder:release-command"}},
            },
        }
    )


def _component(wheel: Wheel, environments: list[str]) -> dict[str, object]:
    purl = f"pkg:pypi/{wheel.name}@{wheel.version}"
    found: dict[str, object] = {
        "type": "library",
        "bom-ref": f"{purl}?file_name={wheel.path.name}",
        "name": wheel.name,
        "version": wheel.version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": wheel.sha256}],
        "properties": [{"name": "pharos:environment", "value": name} for name in environments],
    }
    if wheel.license:
        found["licenses"] = [{"expression": wheel.license}]
    return found
