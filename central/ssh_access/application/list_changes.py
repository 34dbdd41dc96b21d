"""A Site reads its feed, waiting for news if there is none (ledger E3, X13)."""

from collections.abc import Callable
from dataclasses import dataclass

from central.kernel.site_feed import first_page
from central.kernel.site_names import Site
from central.ssh_access.application.ports import MemberKeys
from central.ssh_access.domain.feed import ChangePage


@dataclass(frozen=True, slots=True)
class ListChanges:
    """The use case. It holds no connection while it waits."""

    keys: MemberKeys

    def __call__(self, site: Site, after: int, limit: int, wait: Callable[[], bool]) -> ChangePage:
        """See `first_page`."""
        return first_page(lambda: self.keys.changes(site, after, limit), wait)
