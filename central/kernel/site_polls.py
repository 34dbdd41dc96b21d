"""Polls of a Site's feed over HTTP: their parameters, and waiting without a connection (E3, X13)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeVar

from central.kernel.http import bearer_token, read_query
from central.kernel.notifications import Waiters
from central.kernel.problems import Problem
from central.kernel.shared_problems import FEED_POSITION_UNKNOWN
from central.kernel.site_feed import FeedPage, PositionUnknown, never
from central.kernel.strict_json import MAX_INTEGER

WAIT_MAX: Final = 55
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Poll:
    """What a poll asks for: entries above `after`, `limit` at most, for up to `wait` seconds."""

    after: int
    limit: int
    wait: int


def read_poll(limit_max: int, *, waits: bool = True) -> Poll:
    """The query of a poll. Raises `Problem(QUERY_INVALID)`."""
    query = read_query("after", "wait", "limit") if waits else read_query("after", "limit")
    return Poll(
        after=query.integer("after", minimum=0, maximum=MAX_INTEGER),
        wait=query.integer("wait", default=0, minimum=0, maximum=WAIT_MAX) if waits else 0,
        limit=query.integer("limit", default=limit_max, minimum=1, maximum=limit_max),
    )


@dataclass(frozen=True, slots=True)
class SitePolls:
    """Where news for a Site is said (`channel`), and how many polls of it may be parked at once."""

    waiters: Waiters
    channel: str
    pollers: int

    def first(
        self,
        site: str,
        wait: int,
        read: Callable[[Callable[[], bool]], FeedPage[T]],
        check: Callable[[str], object],
    ) -> FeedPage[T]:
        """What `read` answers, given how to wait. A grant revoked meanwhile is refused by `check` before the
        next read. A poll beyond the Site's `pollers` answers what stands: the threads it would take are the
        others'.
        """
        if not wait:
            return read(never)
        token, deadline = bearer_token(), monotonic() + wait
        with self.waiters.watch(self.channel, site, at_most=self.pollers) as watch:

            def park() -> bool:
                woken = watch.wait(deadline)
                check(token)
                return woken

            return read(park)


@contextmanager
def positions() -> Iterator[None]:
    """Tells who read too far which history there is."""
    try:
        yield
    except PositionUnknown as error:
        extra: dict[str, str | int | bool | None] = {"feed": str(error.feed), "head": error.head}
        raise Problem(FEED_POSITION_UNKNOWN, f"{error}; ask for after=0", extra=extra) from None
