"""The feed of changes and the rule for a history that is not the known one.

A feed id names one history at central. When another one answers, the agent stops removing, reads the new
history from its start, applies what is present in it, and waits for an operator's `accept-feed`
(docs/architecture.md, Site API). A central restored from a backup keeps its feed id: it is found out when it
does not know a position it once gave out, and is another history then, whatever its id.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from site_bundle.ssh_access.domain.desired import DesiredKey


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of the feed: changes after `after`, in order; `reach` is the highest sequence covered."""

    site: str
    feed: UUID
    after: int
    changes: tuple[DesiredKey, ...]
    reach: int
    more: bool


@dataclass(frozen=True, slots=True)
class FeedState:
    """What the journal knows. `accepted`: the history removals are taken from; `current`: the one being
    read.

    `cursor` is the highest sequence read of `current`; `complete`: it was read to its end once. `rewound`:
    central did not know our position; no history is the accepted one until one is accepted anew.
    """

    site: str | None = None
    accepted: UUID | None = None
    current: UUID | None = None
    cursor: int = 0
    complete: bool = False
    rewound: bool = False

    @property
    def removals_allowed(self) -> bool:
        """Removals need one known history (X1: another history is no evidence that a key is unwanted)."""
        return self.accepted == self.current and not self.rewound


class FeedBrokenError(ValueError):
    """An answer that cannot continue what the journal knows; the text says why."""


class PositionUnknownError(Exception):
    """central's history ends before the position we asked from (`feed_position_unknown`)."""


def follows(state: FeedState, page: Page) -> bool:
    """True when `page` continues `state`; False when it belongs to another history and reading starts at 0
    again.

    FeedBrokenError when it does neither.
    """
    if state.site is not None and page.site != state.site:
        raise FeedBrokenError(
            f"the answer is for Site {page.site}, this journal belongs to Site {state.site}"
        )
    if state.current is not None and page.feed != state.current:
        return False
    if page.after != state.cursor:
        raise FeedBrokenError(f"asked for changes after {state.cursor}, the answer starts after {page.after}")
    return True
