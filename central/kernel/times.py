"""Instants: strict RFC 3339 in and out, UTC inside (X2).

1. A time carries a zone and at most six fractional digits.
2. Naive, leap-second, ``24:00``, ``infinity``, week, ordinal, compact, comma and lower-case forms are
   refused.
3. Time is read once per use case from a ``Clock`` and passed in.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from central.kernel.errors import CorruptState, InvalidTime, ObservedInFuture

Clock = Callable[[], datetime]
"""Returns the present instant, aware and in UTC."""

AHEAD_MAX: Final = timedelta(seconds=5)
"""How far ahead of our clock an observation may be; a later one could block true ones (P21, E13)."""
OBSERVED_FROM: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""No Site observed anything before; a clock that says so was never set. Hours-old reports are retries."""

_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))"
)
_WANTED = "wanted an RFC 3339 time with a zone and at most 6 fractional digits, like 2026-01-31T12:00:00Z"


def utc_now() -> datetime:
    """The system clock as a ``Clock``; composition roots alone hand it out."""
    return datetime.now(UTC)


def parse_rfc3339(text: str, *, field: str = "time") -> datetime:
    """Return the instant ``text`` names, in UTC; any other form is ``InvalidTime`` naming ``field``."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidTime(f"{field}: {_WANTED}")
    year, month, day, hour, minute, second, fraction, _, sign, zone_hours, zone_minutes = match.groups()
    offset = timedelta()
    if sign is not None:
        if int(zone_hours) > 23 or int(zone_minutes) > 59:
            raise InvalidTime(f"{field}: the zone offset is out of range; {_WANTED}")
        offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
        offset = -offset if sign == "-" else offset
    micro = int((fraction or "0").ljust(6, "0"))
    try:
        local = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), micro, timezone(offset)
        )
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidTime(f"{field}: no such date or time of day; {_WANTED}") from None


def parse_observed(text: str, *, field: str) -> datetime:
    """Return the time of an observation; ``InvalidTime`` for one before ``OBSERVED_FROM`` too."""
    instant = parse_rfc3339(text, field=field)
    if instant < OBSERVED_FROM:
        raise InvalidTime(f"{field}: nothing was observed before 2020; set the host's clock")
    return instant


def check_not_ahead(observed_at: datetime, now: datetime) -> None:
    """Raise ``ObservedInFuture`` for an observation more than ``AHEAD_MAX`` ahead of ``now``."""
    if observed_at - now > AHEAD_MAX:
        raise ObservedInFuture(observed_at - now)


def format_rfc3339(instant: datetime) -> str:
    """Return the one text form of an aware instant: UTC, ``Z``, a six-digit fraction only where it is not
    zero.
    """
    if instant.tzinfo is None:
        raise ValueError("a naive time has no RFC 3339 form; pass an aware datetime")
    text = instant.astimezone(UTC).replace(tzinfo=None)
    return f"{text.isoformat(timespec='microseconds' if text.microsecond else 'seconds')}Z"


def stored_instant(value: datetime) -> datetime:
    """Return a time read from storage in UTC; a naive one is ``CorruptState``, never assumed UTC (E09)."""
    if value.tzinfo is None:
        raise CorruptState("a stored time carries no zone")
    return value.astimezone(UTC)
