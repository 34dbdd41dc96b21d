"""A Site says what became of its changes (ledger E3, S7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from central.kernel.site_names import Site
from central.kernel.times import check_not_ahead
from central.ssh_access.application.ports import MemberKeys, SiteResult
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.member_key import MemberKey, Receipt, Result, record_result


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
        check_not_ahead(observed_at, now)

        def decide(key: MemberKey, result: Result) -> tuple[Receipt, MemberKey]:
            return record_result(key, result, now)

        return self.keys.record(command, site, results, decide, now)
