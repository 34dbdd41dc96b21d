"""The identities of Sites' feeds in PostgreSQL, as the operator's role (E3).

A context that has a feed names its statements `feeds` and `renew_feed`.
"""

from collections.abc import Sequence
from uuid import UUID

from central.kernel.database import Database
from central.kernel.queries import load_queries
from central.kernel.site_feed import FeedHead, FeedUnknown
from central.kernel.site_names import Site


class PostgresFeeds:
    """One context's feeds; `package` is where its statements are."""

    def __init__(self, database: Database, package: str) -> None:
        self._database = database
        self._queries = load_queries(package)

    def everything(self) -> Sequence[FeedHead]:
        """Every feed, by Site."""
        return self._database.run(lambda tx: tx.all(FeedHead, self._queries["feeds"]), repeatable=True)

    def renew(self, site: Site, feed: UUID) -> FeedHead:
        """Gives the Site's history the identity `feed`. Raises `FeedUnknown`."""
        params = {"site": site, "feed": feed}
        found = self._database.run(lambda tx: tx.maybe(FeedHead, self._queries["renew_feed"], params))
        if found is None:
            raise FeedUnknown(site)
        return found
