"""Which parts stand on which page, and what becomes of a part that cannot be read (X1). Reads, no HTTP.

1. A part whose read failed says so in its place; the others stand beside it. A role that may not read it, or
   a statement that fits the schema no more, is such a failure, too.
2. Once the database does not answer, the other parts are not tried: each would wait as long again.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from central.kernel.driver_errors import DatabaseUnavailable, StatementRefused
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.observability import event
from central.kernel.times import format_rfc3339
from central.web import tables
from central.web.known import Known, Row, Want
from central.web.model import Anchor, Page, Part, Section, Table

HOME: Final = Anchor("Everything that is known", "/")
FIRST_ROWS: Final = 20
"""Rows a table on the page of everything."""
PAGE_ROWS: Final = 100
"""Rows a table on the page of one list."""
_LOG: Final = logging.getLogger("central.web")
_TITLES: Final = {
    "allocations": "Allocations",
    "accounts": "Native accounts",
    "keys": "SSH keys",
    "runs": "Runs",
}
LISTS: Final = frozenset(_TITLES)
"""A Site's lists by their names in paths."""


@dataclass(slots=True)
class _Reading:
    """The reads of one page."""

    down: str | None = field(default=None)

    def part(self, ident: str, title: str, table: Callable[[], Table]) -> Part:
        """The part, or why it cannot be read."""
        if self.down is not None:
            return Part(ident, title, None, self.down)
        try:
            return Part(ident, title, table())
        except DatabaseUnavailable as error:
            self.down = f"{error.code}: {error.detail}"
            reason = self.down
        except Unavailable as error:
            reason = f"{error.code}: {error.detail}"
        except CorruptState as error:
            reason = f"state_corrupt: {error}"
            event(_LOG, "state_corrupt", level=logging.CRITICAL, part=ident, reason=str(error))
        except StatementRefused as error:
            reason = f"refused: {error}"
            event(_LOG, "statement_refused", level=logging.ERROR, part=ident, reason=str(error))
        event(_LOG, "part_unreadable", level=logging.WARNING, part=ident, reason=reason)
        return Part(ident, title, None, reason)


def everything(known: Known, now: datetime) -> Page:
    """The first page: the platform, then each Site."""
    reading = _Reading()
    platform = [
        reading.part("view", "Beto's view", lambda: tables.view(known.view(now), now)),
        reading.part("retention", "Retained accounts", lambda: tables.retention(known.retention(now), now)),
    ]
    sections = [Section("platform", "The platform", platform)]
    sections += [_site(reading, known, site, now) for site in known.sites]
    return Page("What is known, and how fresh", sections, format_rfc3339(now))


def one_list(known: Known, site: str, name: str, after: str | None, now: datetime) -> Page:
    """One of `LISTS` from one place on. `ValueError` for a place no list has."""
    want, title = Want(site, after, PAGE_ROWS), f"{_TITLES[name]} at {site}"
    part = _Reading().part(name, _TITLES[name], lambda: _table(known, name, want, now))
    return Page(title, [Section(site, title, [part])], format_rfc3339(now), HOME)


def one_thing(title: str, read: Callable[[], Sequence[Row] | None], now: datetime) -> Page | None:
    """Why one thing is in its state; None where it is proven not to be there."""
    absent = False

    def table() -> Table:
        nonlocal absent
        found = read()
        absent = found is None
        return tables.links(f"Each link of evidence: {title}", found or [], now)

    part = _Reading().part("links", "Why it is so", table)
    return None if absent else Page(title, [Section("thing", title, [part])], format_rfc3339(now), HOME)


def allocation(known: Known, ident: UUID, now: datetime) -> Page | None:
    """One allocation."""
    return one_thing(f"Allocation {ident}", lambda: known.explain_allocation(ident, now), now)


def key(known: Known, ident: UUID, now: datetime) -> Page | None:
    """One key."""
    return one_thing(f"SSH key {ident}", lambda: known.explain_key(ident, now), now)


def account(known: Known, site: str, member: str, now: datetime) -> Page | None:
    """One member's account and keys at a Site; None where neither was ever there."""
    title, reading = f"Account of {member} at {site}", _Reading()

    def links() -> Table:
        found = known.explain_account(site, member, now)
        caption, empty = f"Each link of evidence: {title}", f"Nobody is known as {member} at {site}."
        return tables.links(caption, found or [], now, empty=empty)

    parts = [
        reading.part("links", "Why it is so", links),
        reading.part(
            "keys", "SSH keys", lambda: tables.member_keys(site, member, known.keys_of(site, member), now)
        ),
    ]
    if all(part.table is not None and not part.table.rows for part in parts):
        return None
    return Page(title, [Section("thing", title, parts)], format_rfc3339(now), HOME)


def run(known: Known, ident: UUID, now: datetime) -> Page | None:
    """One Run."""
    return one_thing(f"Run {ident}", lambda: known.explain_run(ident, now), now)


def _site(reading: _Reading, known: Known, site: str, now: datetime) -> Section:
    want = Want(site, None, FIRST_ROWS)
    parts = [
        reading.part(f"{site}-{name}", f"{title} at {site}", partial(_table, known, name, want, now))
        for name, title in _TITLES.items()
    ]
    agents = reading.part(
        f"{site}-grants", f"Agents of {site}", lambda: tables.grants(site, known.grants(site, now), now)
    )
    return Section(site, f"Site {site}", [*parts, agents])


def _table(known: Known, name: str, want: Want, now: datetime) -> Table:
    match name:
        case "allocations":
            return tables.allocations(want.site, known.allocations(want, now), now)
        case "accounts":
            return tables.accounts(want.site, known.accounts(want, now), now)
        case "keys":
            return tables.keys(want.site, known.keys(want), now)
        case _:
            return tables.runs(want.site, known.runs(want, now), now)
