"""Reads wheels: who they are, what they need, where they run. Nothing in them is executed."""

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from installer.domain.requirements import RequirementsError, parse_wheel_name
from release.errors import ReleaseError

_GLIBC_ALIASES: Final = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_METADATA_LIMIT: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel file; ``glibc`` is what it needs at least, None when it is pure."""

    path: Path
    name: str
    version: str
    sha256: str
    size: int
    requires: tuple[str, ...]
    requires_python: str
    license: str
    glibc: tuple[int, int] | None


def platforms(newest_glibc: tuple[int, int], architecture: str) -> tuple[str, ...]:
    """The platform tags of hosts with that glibc, newest first."""
    _, newest = newest_glibc
    tags = [f"manylinux_2_{minor}_{architecture}" for minor in range(newest, 4, -1)]
    tags += [f"{alias}_{architecture}" for alias, (_, minor) in _GLIBC_ALIASES.items() if minor <= newest]
    return tuple(tags)


def read_wheel(path: Path) -> Wheel:
    """The wheel at ``path``. Raises ReleaseError ``wheel_malformed``."""
    try:
        named = parse_wheel_name(path.name)
        with zipfile.ZipFile(path) as content:
            folders = [name for name in content.namelist() if name.endswith(".dist-info/METADATA")]
            if len(folders) != 1 or content.getinfo(folders[0]).file_size > _METADATA_LIMIT:
                raise RequirementsError(f"{path.name} has {len(folders)} METADATA files, or a huge one")
            raw = content.read(folders[0])
        metadata = Metadata.from_email(raw, validate=False)
        headers = BytesHeaderParser().parsebytes(raw)
        name, version = canonicalize_name(metadata.name), str(metadata.version)
        if (name, version) != (named.name, str(parse_wheel_filename(path.name)[1])):
            raise RequirementsError(f"{path.name} is misnamed: its metadata says {name} {version}")
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
        raise ReleaseError(
            "wheel_malformed", found=f"{path.name}: {error}", wanted="a wheel", remedy="Fetch it again."
        ) from error
    return Wheel(
        path=path,
        name=name,
        version=version,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        size=path.stat().st_size,
        requires=tuple(str(requirement) for requirement in metadata.requires_dist or ()),
        requires_python=str(metadata.requires_python or ""),
        license=str(headers.get("License-Expression") or "").strip(),
        glibc=_glibc(path.name),
    )


def check_record(path: Path) -> None:
    """Raises ReleaseError ``wheel_malformed`` unless the wheel's files are those its RECORD says (pip does
    not look; B11).

    Source: binary distribution format, RECORD.
    """
    with zipfile.ZipFile(path) as content:
        names = [name for name in content.namelist() if not name.endswith("/")]
        (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        recorded = {
            row[0]: row[1] for row in csv.reader(io.StringIO(content.read(record).decode("utf-8"))) if row
        }
        unsigned = {record, f"{record}.jws", f"{record}.p7s"}
        faults = [name for name in names if len(names) != len(set(names)) or name not in recorded]
        faults += [name for name in recorded if name not in names]
        for name in set(names) & recorded.keys() - unsigned:
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(content.read(name)).digest()).rstrip(b"=").decode()
            )
            if recorded[name] != f"sha256={digest}":
                faults.append(name)
    if faults:
        raise ReleaseError(
            "wheel_malformed",
            found=f"{path.name}: {', '.join(sorted(faults)[:5])} not as its RECORD says",
            wanted="the files its maker recorded",
            remedy="Fetch it again; if it stays so, the wheel is wrong upstream.",
        )


def check_platform(wheel: Wheel, python: str, newest_glibc: tuple[int, int], architecture: str) -> None:
    """Raises ReleaseError ``wheel_platform`` unless the wheel runs on such hosts (row 20)."""
    major, minor = (int(part) for part in python.split("."))
    hosts = platforms(newest_glibc, architecture)
    accepted = {*cpython_tags((major, minor), platforms=hosts)}
    accepted |= {*compatible_tags((major, minor), f"cp{major}{minor}", platforms=hosts)}
    if accepted.isdisjoint(parse_wheel_filename(wheel.path.name)[3]):
        raise ReleaseError(
            "wheel_platform",
            found=wheel.path.name,
            wanted=f"CPython {python}, {architecture}, glibc {newest_glibc[0]}.{newest_glibc[1]} or older",
            remedy="Lock again: python -m release lock.",
        )


def needed_glibc(wheels: Iterable[Wheel]) -> tuple[int, int]:
    """The oldest glibc on which all of them run; 2.17 when none says."""
    return max([(2, 17), *(wheel.glibc for wheel in wheels if wheel.glibc is not None)])


def _glibc(file_name: str) -> tuple[int, int] | None:
    """The least glibc of a wheel's platform tags, each of which is sufficient."""
    found: list[tuple[int, int]] = []
    for tag in parse_wheel_filename(file_name)[3]:
        family, _, rest = tag.platform.partition("_")
        if family in _GLIBC_ALIASES:
            found.append(_GLIBC_ALIASES[family])
        elif family == "manylinux":
            found.append((int(rest.split("_")[0]), int(rest.split("_")[1])))
    return min(found, default=None)
