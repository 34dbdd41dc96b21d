"""A Site reads its feed, waiting for news if there is none (ledger E3, X13)."""

from collections.abc import Callable
from dataclasses import dataclass

from central.kernel.site_names import Site
from central.ssh_access.application.ports import MemberKeys
from central.ssh_access.domain.feed import ChangePage


@dataclass(frozen=True, slots=True)
class ListChanges:
    """The use case. It holds no connection while it waits."""

    keys: MemberKeys

    def __call__(self, site: Site, after: int, limit: int, wait: Callable[[], bool]) -> ChangePage:
        """The first page that holds a change, or the empty one that stands when `wait` answers False.

        `wait` parks the caller until something may have changed (True) or the time is over (False), and
        raises when the caller may not wait any longer.
        """
        while True:
            page = self.keys.changes(site, after, limit)
            if page.changes or not wait():
                return page
