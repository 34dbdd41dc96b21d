"""Saved allocations one after the other, for who must see each of them (P9, P30)."""

from collections.abc import Iterator
from typing import Final

from central.provisioning.application.ports import SavedAllocations
from central.provisioning.domain.allocation import Saved

PAGE: Final = 500
"""Allocations read in one statement; no more are held at once."""


def every_allocation(saved: SavedAllocations, site: str | None) -> Iterator[Saved]:
    """Every allocation of a Site, or (None) of all, by id, page by page to the last.

    Raises `CorruptState`, `Unavailable`.
    """
    after = None
    while True:
        page = saved.page(after, PAGE)
        yield from (one for one in page.allocations if site in (None, one.allocation.site))
        if page.next is None:
            return
        after = page.next
