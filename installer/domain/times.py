"""Points in time as text and back: RFC 3339 with a zone, at most six fractional digits (X2)."""

import re
from datetime import UTC, datetime

from installer.domain.refusal import USAGE, Refusal

PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$"
_PATTERN = re.compile(PATTERN, re.ASCII)


def parse_time(text: str, *, what: str) -> datetime:
    """The moment ``text`` names, in UTC. Raises Refusal ``time_malformed`` (naive, lenient and impossible
    forms).
    """
    try:
        if _PATTERN.match(text) is None:
            raise ValueError(text)
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Refusal(
            "time_malformed",
            found=f"{what} is no point in time with a zone",
            wanted="RFC 3339 with a zone, for instance 2026-11-30T12:00:00Z",
            remedy=f"Write {what} with a zone.",
            exit_code=USAGE,
        ) from error


def format_time(moment: datetime) -> str:
    """``moment`` (with a zone) as RFC 3339 in UTC, ending in Z."""
    if moment.tzinfo is None:
        raise ValueError("a naive time has no place here")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
