"""RFC 3339 times with a zone, at most six fractional digits (X2). The clock is read by composition roots
only.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


def parse_time(text: str) -> datetime:
    """The instant `text` names, in UTC. ValueError for naive, leap-second, lower-case, week and lenient
    forms.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time with a zone and at most six fractional digits")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match[7] or "").ljust(6, "0"))
    zone: timezone = UTC
    if match[8]:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 23 or minutes > 59:
            raise ValueError("zone offset out of range")
        offset = timedelta(hours=hours, minutes=minutes)
        zone = timezone(-offset if match[8] == "-" else offset)
    try:
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=zone).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("time out of range") from error


def render_time(instant: datetime) -> str:
    """`instant` as `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`. ValueError for a naive one: that is corruption."""
    if instant.tzinfo is None:
        raise ValueError("a time without a zone")
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
