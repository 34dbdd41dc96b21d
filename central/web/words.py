"""Ages and times in words, for people who read or hear the page."""

from datetime import datetime
from typing import Final

from central.kernel.times import parse_rfc3339

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def age_words(at: str, now: datetime) -> str:
    """How long ago an RFC 3339 time was, in its two largest units: "3 minutes 5 seconds ago"."""
    seconds = int((now - parse_rfc3339(at)).total_seconds())
    if seconds == 0:
        return "now"
    return f"{span_words(seconds)} ago" if seconds > 0 else f"in {span_words(-seconds)}"


def span_words(seconds: int) -> str:
    """A span of whole seconds in its two largest units."""
    parts: list[str] = []
    for size, name in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
        if parts and (len(parts) == 2 or not count):
            break
    return " ".join(parts) or "0 seconds"
