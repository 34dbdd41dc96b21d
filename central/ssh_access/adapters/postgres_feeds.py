"""`Feeds` in PostgreSQL, as the operator's role."""

from collections.abc import Sequence
from uuid import UUID

from central.kernel.database import Database
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.ssh_access.application.ports import FeedUnknown
from central.ssh_access.domain.feed import FeedHead


class PostgresFeeds:
    """The adapter."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.ssh_access")

    def everything(self) -> Sequence[FeedHead]:
        """See `Feeds`."""
        return self._database.run(lambda tx: tx.all(FeedHead, self._queries["feeds"]), repeatable=True)

    def renew(self, site: Site, feed: UUID) -> FeedHead:
        """See `Feeds`."""
        params = {"site": site, "feed": feed}
        found = self._database.run(lambda tx: tx.maybe(FeedHead, self._queries["renew_feed"], params))
        if found is None:
            raise FeedUnknown(site)
        return found
