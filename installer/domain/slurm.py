"""Slurm's answers, read and judged (I7, I9): parsers of recorded output, no command is run here.

Rows are those of ``sacctmgr --noheader --parsable2``; settings those of ``scontrol show config`` and
``sacctmgr show configuration``. A line that is not as the manual page says is unreadable, never skipped:
that would read as absence (X1). Slurm keeps names in lower case (W02).
"""

import re
from collections.abc import Mapping
from typing import Final

SAFE_RELEASES: Final = {(23, 11): 11, (24, 5): 8, (24, 11): 5}
"""First patch of each branch in which a coordinator cannot make itself an administrator (CVE-2025-43904)."""
ALWAYS_SAFE: Final = (25, 5)
FLOOR: Final = "23.11.11, 24.05.8, 24.11.5, or 25.05 and newer"
_VERSION = re.compile(r"(\d{2})\.(\d{2})\.(\d{1,3})(?:-[0-9A-Za-z.]+)?")
_SETTING = re.compile(r"([A-Za-z][^\s=]*)\s*=(?:\s(.*))?")
_HEADING = re.compile(
    r"Configuration data as of .*|[A-Za-z ]+ [Cc]onfiguration:|Slurmctld\([a-z0-9]+\) at .*"
)


class SlurmUnreadable(ValueError):
    """An answer of Slurm that is not as its manual page says; the text names the line."""


def parse_version(text: str) -> tuple[int, int, int]:
    """``24.11.5`` or ``slurm-wlm 24.11.5``. Raises SlurmUnreadable."""
    match = _VERSION.fullmatch(text.strip().rpartition(" ")[2])
    if match is None:
        raise SlurmUnreadable(f"a version was wanted, found {text.strip()[:60]!a}")
    year, month, patch = (int(part) for part in match.groups())
    return year, month, patch


def is_safe(version: tuple[int, int, int]) -> bool:
    """Whether the release has the fix of CVE-2025-43904."""
    branch, patch = version[:2], version[2]
    return branch >= ALWAYS_SAFE or (branch in SAFE_RELEASES and patch >= SAFE_RELEASES[branch])


def parse_rows(text: str, columns: int) -> tuple[tuple[str, ...], ...]:
    """The rows of a parsable2 answer. Raises SlurmUnreadable for another number of columns."""
    rows = tuple(tuple(line.split("|")) for line in text.splitlines() if line.strip())
    wrong = next((row for row in rows if len(row) != columns), None)
    if wrong is not None:
        raise SlurmUnreadable(f"{columns} columns were wanted, found {len(wrong)}")
    return rows


def parse_settings(text: str) -> Mapping[str, str]:
    """Settings by name, in lower case; an empty or ``(null)`` value is ``""``.

    Raises SlurmUnreadable for a line that is neither setting, heading nor blank.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or _HEADING.fullmatch(line.strip()):
            continue
        match = _SETTING.fullmatch(line.strip())
        if match is None:
            raise SlurmUnreadable(f"NAME = VALUE was wanted, found {line[:60]!a}")
        value = (match[2] or "").strip()
        found[match[1].casefold()] = "" if value == "(null)" else value
    if not found:
        raise SlurmUnreadable("no setting at all")
    return found


def is_on(value: str) -> bool:
    """Whether a yes/no setting is on."""
    return value.casefold() in {"yes", "1", "true"}


def words(value: str) -> frozenset[str]:
    """The words of a comma-separated setting, in lower case."""
    return frozenset(word.strip().casefold() for word in value.split(",") if word.strip())
