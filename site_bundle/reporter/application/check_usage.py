"""Compares the month's totals of Slurm with Waldur's, now and then (S8). Nothing is reported of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from site_bundle.reporter.domain.sources import Row
from site_bundle.reporter.domain.usage import Compared, Month, compare, month_of


class Accounting(Protocol):
    """Node-seconds of a month, by lower-case account; None where they cannot be known. SiteError."""

    def node_seconds(self, month: Month) -> dict[str, int | None]: ...


@dataclass(slots=True)
class CheckUsage:
    """Remembers the totals of the check before, of the same month."""

    accounting: Accounting
    _month: Month | None = None
    _before: dict[str, int | None] = field(default_factory=dict)

    def run(self, rows: tuple[Row, ...], *, now: datetime) -> Compared:
        """`rows` were read a pass ago at most, so Waldur has told them before the totals are taken."""
        month = month_of(now)
        held = self.accounting.node_seconds(month)
        before = self._before if self._month == month else {}
        self._month, self._before = month, held
        return compare(rows, held, before)
