"""Slurm's own totals of a month beside what Waldur was told: a cross-check, never a report (S8, W04, W39).

Waldur is told every half hour or so, in hundredths of a node-hour. It may lag; it may not have more than was
held, nor less than was held at the check before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from site_bundle.reporter.domain.sources import Row

TOLERANCE_SECONDS = 36  # a hundredth of a node-hour
HOUR = 3600
_HOURS = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class Month:
    """A half-open UTC month."""

    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Compared:
    """How many allocations were compared, and which have too much or too little at Waldur."""

    number: int
    above: tuple[UUID, ...]
    behind: tuple[UUID, ...]


def month_of(instant: datetime) -> Month:
    """The month `instant` is in; fixed before anything is read (W40)."""
    begin = instant.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = begin.replace(year=begin.year + begin.month // 12, month=begin.month % 12 + 1)
    return Month(begin, end)


def compare(
    rows: tuple[Row, ...], held: Mapping[str, int | None], before: Mapping[str, int | None]
) -> Compared:
    """`held` and `before`: node-seconds by account, now and at the check before in the same month. An account
    whose seconds are not known is not compared.
    """
    above: list[UUID] = []
    behind: list[UUID] = []
    number = 0
    for row in rows:
        told = node_seconds(row.used_node_hours)
        if row.account is None or told is None:
            continue
        now, then = held.get(row.account, 0), before.get(row.account, 0)
        if now is None:
            continue
        number += 1
        if told > now + TOLERANCE_SECONDS:
            above.append(row.resource_id)
        elif then is not None and told < then - TOLERANCE_SECONDS:
            behind.append(row.resource_id)
    return Compared(number, tuple(above), tuple(behind))


def node_seconds(text: str | None) -> Decimal | None:
    """Node-hours as Waldur writes them, in seconds, exactly; None for what is no number of JSON (D13)."""
    return Decimal(text) * HOUR if text is not None and _HOURS.fullmatch(text) else None
