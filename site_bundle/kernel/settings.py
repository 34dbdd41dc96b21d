"""Settings are one table (X6): name, type, default, meaning. Everything is checked before a connection
opens.

A value comes from the environment or, when the variable is unset, from an environment file in systemd's
`EnvironmentFile=` form (plain `NAME=value` lines, as `activate` renders them). A secret comes from its
variable or from the file its `_FILE` twin names, and is read where it is used, so that a changed file is
seen (X5, I03).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_bundle.kernel.errors import SettingsError
from site_bundle.kernel.ranges import NumberRange

# What orchestrators inject for a service called `pharos-…`: ignored, never read.
_SERVICE_LINK = re.compile(r".*(_SERVICE_HOST|_SERVICE_PORT|_PORT)(_.*)?")
_LINE = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_PREFIXES = ("PHAROS_", "RESOURCE_PROVISIONING_")
_NO_DEFAULT = object()
MAX_FILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `parse` turns the text into the value or raises ValueError saying what is
    wanted.
    """

    name: str
    meaning: str
    parse: Callable[[str], Any]
    default: Any = _NO_DEFAULT
    secret: bool = False

    @property
    def required(self) -> bool:
        return self.default is _NO_DEFAULT


def read_settings(table: Sequence[Setting], environment: Mapping[str, str]) -> dict[str, Any]:
    """Every setting's value by name. Secrets are not read: they stay a choice of variable or file.

    SettingsError names each fault at once; a value is never echoed.
    """
    faults = [f"{name} is not a setting" for name in unknown_names(table, environment)]
    values: dict[str, Any] = {}
    for row in table:
        text = environment.get(row.name)
        if row.secret:
            faults.extend(_secret_faults(row, environment))
        elif text is None or (text == "" and not row.required):
            if row.required:
                faults.append(f"{row.name} is missing ({row.meaning})")
            else:
                values[row.name] = row.default
        else:
            try:
                values[row.name] = row.parse(text)
            except ValueError as error:
                faults.append(f"{row.name}: {error}")
    if faults:
        raise SettingsError(
            "settings_refused",
            found="; ".join(sorted(faults)),
            wanted="the settings of docs/settings.md, each valid",
            remedy="correct the profile and activate again, or the environment file",
        )
    return values


def number_range(values: Mapping[str, Any], name: str, profile: str) -> NumberRange:
    """The range `<name>_MIN` to `<name>_MAX` of the values; `profile` is its name in the profile."""
    low, high = values[f"{name}_MIN"], values[f"{name}_MAX"]
    if low > high:
        raise SettingsError(
            "settings_refused",
            found=f"{name}_MIN {low} is above {name}_MAX {high}",
            wanted="a range",
            remedy=f"correct {profile} in the profile",
        )
    return NumberRange(low, high)


def unknown_names(table: Sequence[Setting], environment: Mapping[str, str]) -> list[str]:
    """Names of ours that no row knows; service-link forms are left out."""
    known = {row.name for row in table} | {row.name + "_FILE" for row in table if row.secret}
    return sorted(
        name
        for name in environment
        if name.startswith(_PREFIXES) and name not in known and not _SERVICE_LINK.fullmatch(name)
    )


def ignored_names(environment: Mapping[str, str]) -> list[str]:
    """Service-link names found and ignored, to be named in a log."""
    return sorted(n for n in environment if n.startswith(_PREFIXES) and _SERVICE_LINK.fullmatch(n))


def _secret_faults(row: Setting, environment: Mapping[str, str]) -> list[str]:
    given = [name for name in (row.name, row.name + "_FILE") if environment.get(name)]
    if len(given) == 2:
        return [f"{row.name} and {row.name}_FILE are both set; one is wanted"]
    if not given and row.required:
        return [f"{row.name} or {row.name}_FILE is missing ({row.meaning})"]
    return []


def read_environment_file(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of `path`; comments and empty lines are skipped, anything else is refused."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            "environment_file_unreadable",
            found=f"{path}: {error.strerror}",
            wanted="the file activate renders",
            remedy="activate the component, or name the file with --env-file",
        ) from error
    if len(raw) > MAX_FILE_BYTES:
        raise SettingsError(
            "environment_file_malformed", found=f"{path} is longer than {MAX_FILE_BYTES} bytes"
        )
    found: dict[str, str] = {}
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match[1] in found:
            raise SettingsError(
                "environment_file_malformed",
                found=f"{path}, line {number}",
                wanted="NAME=value, each name once",
                remedy="activate the component again: it renders the file",
            )
        found[match[1]] = _unquote(match[2])
    return found


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


@dataclass(frozen=True, slots=True)
class ComponentFolders:
    """The two folders of a component: where a setting says, else where systemd says (the first of a
    colon-separated list), else the unit's own. `prefix` begins its settings' names, `name` is its unit's.
    """

    prefix: str
    name: str

    @property
    def rows(self) -> tuple[Setting, Setting]:
        """Their rows of the component's table."""
        return (
            Setting(
                f"{self.prefix}STATE_DIRECTORY",
                "journal folder; default $STATE_DIRECTORY",
                absolute_path,
                default=None,
            ),
            Setting(
                f"{self.prefix}RUNTIME_DIRECTORY",
                "status folder; default $RUNTIME_DIRECTORY",
                absolute_path,
                default=None,
            ),
        )

    def state(self, environment: Mapping[str, str]) -> Path:
        """Where the journal stands."""
        return self._chosen(environment, "STATE_DIRECTORY", Path("/var/lib"))

    def runtime(self, environment: Mapping[str, str]) -> Path:
        """Where the status stands, for `status`, which needs no other setting."""
        return self._chosen(environment, "RUNTIME_DIRECTORY", Path("/run"))

    def _chosen(self, environment: Mapping[str, str], variable: str, above: Path) -> Path:
        chosen = environment.get(self.prefix + variable) or environment.get(variable, "").partition(":")[0]
        return Path(chosen) if chosen else above / self.name


def https_origin(text: str) -> str:
    """An HTTPS origin: scheme, host, optional port; no path, query, user or fragment (I18)."""
    match = re.fullmatch(r"https://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?/?", text)
    if match is None or (match[2] and not 0 < int(match[2]) < 65536):
        raise ValueError("an HTTPS origin is wanted, such as https://site-api.example.org")
    return text.rstrip("/")


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """A parser of whole decimal numbers in low…high."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"0|[1-9][0-9]{0,18}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number {low}…{high} is wanted")
        return int(text)

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """A parser of a closed set of words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"one of {', '.join(words)} is wanted")
        return text

    return parse


def absolute_path(text: str) -> Path:
    """An absolute path without `.` or `..` parts."""
    path = Path(text)
    if not path.is_absolute() or ".." in path.parts or "\0" in text:
        raise ValueError("an absolute path is wanted")
    return path


def plain_text(text: str) -> str:
    """Any printable text without blanks around it."""
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("printable text is wanted")
    return text
