"""A Site says what became of its changes (ledger E3, S7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from central.ssh_access.application.ports import MemberKeys, SiteResult
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.member_key import MemberKey, Receipt, Result, Site, record_result

AHEAD_MAX: Final = timedelta(seconds=5)
"""How far ahead of our clock an observation may be; a later one could block true ones (P21, E13)."""


class ObservedInFuture(Exception):
    """The Site's clock is ahead. `ahead` says by how much."""

    def __init__(self, ahead: timedelta) -> None:
        super().__init__(f"observed {ahead.total_seconds():.1f} s ahead of our clock")
        self.ahead = ahead


@dataclass(frozen=True, slots=True)
class RecordResults:
    """The use case."""

    keys: MemberKeys

    def __call__(
        self,
        command: Command,
        site: Site,
        observed_at: datetime,
        results: Sequence[SiteResult],
        now: datetime,
    ) -> Sequence[Receipt]:
        """One receipt a result, in order. Raises `ObservedInFuture`."""
        ahead = observed_at - now
        if ahead > AHEAD_MAX:
            raise ObservedInFuture(ahead)

        def decide(key: MemberKey, result: Result) -> tuple[Receipt, MemberKey]:
            return record_result(key, result, now)

        return self.keys.record(command, site, results, decide, now)
