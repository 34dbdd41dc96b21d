"""What a component knows of its own condition: one named check each for what it needs, ready only when none
fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.times import render_time


class Status(StrEnum):
    """A check's result. `unknown`: it could not be made (X1)."""

    PASS = "pass"  # noqa: S105 - a word of the wire, not a password
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was found, what is wanted, the remedy."""

    id: str
    status: Status
    found: str = ""
    wanted: str = ""
    remedy: str = ""
    code: str = ""

    @classmethod
    def of_error(cls, check_id: str, error: SiteError, status: Status = Status.FAIL) -> Check:
        return cls(check_id, status, error.found, error.wanted, error.remedy, error.code)

    def document(self) -> dict[str, str | None]:
        """The check without its id, as documents show it."""
        return {
            "status": self.status.value,
            "code": self.code or None,
            "found": self.found,
            "wanted": self.wanted,
            "remedy": self.remedy,
        }


@dataclass(slots=True)
class Health:
    """Latest result and since when, by check id."""

    needed: tuple[str, ...]
    checks: dict[str, tuple[Check, datetime]] = field(default_factory=dict)

    def set(self, check: Check, now: datetime) -> bool:
        """Records `check`; True when its status or code changed (worth a log line)."""
        before = self.checks.get(check.id)
        changed = before is None or (before[0].status, before[0].code) != (check.status, check.code)
        self.checks[check.id] = (check, now if changed or before is None else before[1])
        return changed

    def failing(self) -> list[Check]:
        return [check for check, _ in self.checks.values() if check.status in {Status.FAIL, Status.UNKNOWN}]

    def document(self) -> dict[str, Any]:
        """The checks as `status.json` shows them, by id."""
        return {
            check.id: {**check.document(), "since": render_time(since)}
            for check, since in self.checks.values()
        }

    @property
    def state(self) -> str:
        """`starting` until each needed check was made once, then `ready` or `degraded`."""
        if self.failing():
            return "degraded"
        return "ready" if all(name in self.checks for name in self.needed) else "starting"


def worst(checks: Iterable[Check]) -> Status:
    """The gravest status, for an exit code."""
    order = [Status.PASS, Status.WARN, Status.UNKNOWN, Status.FAIL]
    return max((check.status for check in checks), key=order.index, default=Status.PASS)
