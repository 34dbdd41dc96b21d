"""Links of evidence: what is known, since when, how old that is (O1)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from central.kernel.times import format_rfc3339
from central.provisioning.domain.confirmation import fresh


@dataclass(frozen=True, slots=True)
class Link:
    """One thing known, since when, and its age in whole seconds (None where no time belongs to it)."""

    name: str
    text: str
    at: datetime | None
    age: int | None


def render(links: Sequence[Link], *, as_json: bool) -> str:
    """For a terminal, or as one JSON document."""
    if as_json:
        return json.dumps({"schema": 1, "links": rows_of(links)})
    width = max(len(link.name) for link in links)
    return "\n".join(
        f"{link.name:<{width}} {link.text}" + (f"  ({link.age} s ago)" if link.age is not None else "")
        for link in links
    )


def rows_of(links: Sequence[Link]) -> list[dict[str, Any]]:
    """The links as programs and the operators' page get them."""
    return [
        {
            "link": link.name,
            "text": link.text,
            "at": format_rfc3339(link.at) if link.at else None,
            "ageSeconds": link.age,
        }
        for link in links
    ]


def link(name: str, text: str, at: datetime | None, now: datetime) -> Link:
    return Link(name, text, at, max(0, int((now - at).total_seconds())) if at else None)


def aged(at: datetime, now: datetime, limit: timedelta) -> str:
    """Whether evidence of that time counts, by its age limit (P25, P30)."""
    seconds = int(limit.total_seconds())
    if fresh(at, now, limit):
        return f"fresh, below the limit of {seconds} s"
    return f"STALE: it proves nothing, for it is {seconds} s old or more, or too far ahead"
