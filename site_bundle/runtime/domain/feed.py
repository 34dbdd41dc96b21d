"""The feed of commands, and the rule for a history that is not the known one (E3).

A feed id names one history at central. When another one answers, or central does not know a position it gave
out, nothing is begun any more until an operator's `accept-feed`: a central that was restored may ask again
for what was done already under ids this journal does not know. What is under way is observed and reported all
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from site_bundle.runtime.domain.command import Command, Foreign


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: commands after `after`, in order; `reach` is the highest sequence covered, `foreign` those
    of another form than this version's.
    """

    site: str
    feed: UUID
    after: int
    commands: Sequence[Command]
    reach: int
    more: bool
    foreign: Sequence[Foreign] = ()


@dataclass(frozen=True, slots=True)
class FeedState:
    """What the journal knows. `cursor` is the highest sequence read of `current`; `rewound`: central did not
    know it.
    """

    site: str | None = None
    accepted: UUID | None = None
    current: UUID | None = None
    cursor: int = 0
    rewound: bool = False

    @property
    def may_begin(self) -> bool:
        """Whether commands of this history are begun."""
        return self.accepted is not None and self.accepted == self.current and not self.rewound


class FeedBrokenError(ValueError):
    """An answer that cannot continue what the journal knows; the text says why."""


class PositionUnknownError(Exception):
    """central's history ends before the position we asked from (`feed_position_unknown`)."""


def follows(state: FeedState, page: Page, *, after: int) -> bool:
    """True when `page`, asked for after `after`, is of the history being read; False for another one.
    FeedBrokenError when it is neither.
    """
    if state.site is not None and page.site != state.site:
        raise FeedBrokenError(
            f"the answer is for Site {page.site}, this journal belongs to Site {state.site}"
        )
    if state.current is not None and page.feed != state.current:
        return False
    if page.after != after:
        raise FeedBrokenError(f"asked for commands after {after}, the answer starts after {page.after}")
    return True
