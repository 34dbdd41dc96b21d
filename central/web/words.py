"""Ages, times and amounts in words, for people who read or hear the page."""

from datetime import datetime
from typing import Final

from central.kernel.times import parse_rfc3339

_BYTES: Final = tuple((1024**power, name) for power, name in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")))
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


def amount_words(component: str, amount: int) -> str:
    """An amount in canonical units (X3) with its unit: "2 CPU", "1500 millicores of CPU", "16 GiB memory". A
    larger unit only where it is exact; nothing is rounded.
    """
    if component == "cpu":
        whole, rest = divmod(amount, 1000)
        return f"{amount} millicores of CPU" if rest else f"{whole} CPU"
    if component.startswith("gpu."):
        return f"{amount} {component.removeprefix('gpu.')} GPU{'' if amount == 1 else 's'}"
    name = component.replace("_", " ")
    for size, unit in _BYTES:
        if amount and amount % size == 0:
            return f"{amount // size} {unit} {name}"
    return f"{amount} byte{'' if amount == 1 else 's'} {name}"
