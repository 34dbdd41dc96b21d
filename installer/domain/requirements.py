"""Complete, hashed requirements files and the wheels they name (I5).

A file is lines ``name==version --hash=sha256:<64 hex>``, comments and blank lines; nothing else: no option,
marker, URL, extra, second hash or unhashed line (cases B9, B10). One requirement is exactly one wheel.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\d[A-Za-z0-9.!+_]*) --hash=sha256:([0-9a-f]{64})")
_WHEEL: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>\d[A-Za-z0-9_.!+]*)(-(?P<build>\d[A-Za-z0-9_.]*))?"
    r"-(?P<python>[A-Za-z0-9_.]+)-(?P<abi>[A-Za-z0-9_.]+)-(?P<platform>[A-Za-z0-9_.]+)\.whl"
)


class RequirementsError(ValueError):
    """The file is not complete and hashed, or names a wheel that is not there; the text says which line or
    file.
    """


@dataclass(frozen=True, slots=True)
class Requirement:
    """One pinned, hashed distribution; ``name`` is normalised (PEP 503)."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class WheelName:
    """The parts of a wheel's file name (binary distribution format); ``name`` is normalised."""

    name: str
    version: str
    python: str
    abi: str
    platform: str


def normalise(name: str) -> str:
    """The one spelling of a distribution's name: lower case, runs of ``-_.`` as one hyphen (PEP 503; case
    H13).
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_wheel_name(file_name: str) -> WheelName:
    """The parts of ``file_name``. Raises RequirementsError when it is misnamed (H13) or no wheel (B10)."""
    if not file_name.endswith(".whl"):
        raise RequirementsError(f"{file_name} is not a wheel: source distributions are not installed")
    match = _WHEEL.fullmatch(file_name)
    if match is None:
        raise RequirementsError(f"{file_name} is misnamed: wanted name-version-python-abi-platform.whl")
    return WheelName(
        normalise(match["name"]), match["version"], match["python"], match["abi"], match["platform"]
    )


def parse_requirements(text: str) -> tuple[Requirement, ...]:
    """The requirements of a file, in its order. Raises RequirementsError."""
    found: dict[str, Requirement] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise RequirementsError(
                f"line {number}: wanted name==version --hash=sha256:<64 hex>, one hash, nothing else"
            )
        name = normalise(match[1])
        if name in found:
            raise RequirementsError(f"line {number}: {name} twice")
        found[name] = Requirement(name, match[2], match[3])
    if not found:
        raise RequirementsError("no requirement at all")
    return tuple(found.values())


def format_requirements(requirements: Iterable[Requirement]) -> str:
    """The canonical text: sorted by name, one line each."""
    lines = [
        f"{r.name}=={r.version} --hash=sha256:{r.sha256}\n"
        for r in sorted(requirements, key=lambda r: r.name)
    ]
    return "".join(lines)


def match_wheels(
    requirements: Iterable[Requirement], wheels: Mapping[str, str], *, partial: bool = False
) -> dict[str, str]:
    """Requirement name to wheel file name. ``wheels`` is file name to SHA-256. With ``partial`` a requirement
    may have none at all, for it comes from an index.

    Raises RequirementsError when a requirement has no wheel, only one with another hash (B10), or a
    misnamed one (H13).
    """
    by_hash: dict[str, str] = {}
    by_release: dict[tuple[str, str], str] = {}
    for file_name, digest in sorted(wheels.items()):
        parsed = parse_wheel_name(file_name)
        by_hash[digest] = file_name
        by_release[parsed.name, parsed.version] = file_name
    result: dict[str, str] = {}
    for requirement in requirements:
        wanted = f"{requirement.name}=={requirement.version}"
        file_name = by_hash.get(requirement.sha256, "")
        if not file_name:
            other = by_release.get((requirement.name, requirement.version))
            if other is None and partial:
                continue
            raise RequirementsError(
                f"{other} has another hash than {wanted}" if other else f"no wheel for {wanted}"
            )
        parsed = parse_wheel_name(file_name)
        if (parsed.name, parsed.version) != (requirement.name, requirement.version):
            raise RequirementsError(f"{file_name} is misnamed: its hash is that of {wanted}")
        result[requirement.name] = file_name
    return result
