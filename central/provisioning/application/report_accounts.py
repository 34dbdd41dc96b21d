"""A Site reports complete sets of its allocations' accounts (P21). Nothing in one grants or removes an
account.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from central.provisioning.application.account_ports import AccountReport, NativeAccounts
from central.provisioning.domain.account_report import (
    AccountsOutcome,
    AccountsRefusal,
    Told,
    ahead_refusal,
)


class AccountsRefused(Exception):
    """The report was refused whole; nothing of it was saved."""

    def __init__(self, reason: AccountsRefusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReportAccounts:
    """The use case."""

    accounts: NativeAccounts

    def __call__(self, report: AccountReport, now: datetime) -> AccountsOutcome:
        """What became of a report of one set. Raises `AccountsRefused`, `Unavailable`, `Problem`."""
        answer = ahead_refusal(report.observed_at, now) or self.accounts.replace(report, now)
        if isinstance(answer, AccountsRefusal):
            raise AccountsRefused(answer)
        return answer

    def each(self, report: AccountReport, now: datetime) -> Sequence[Told]:
        """What became of each set of the report, in order: none takes another with it.

        Raises `AccountsRefused` where the report as a whole cannot be taken, `Unavailable`, `Problem`.
        """
        ahead = ahead_refusal(report.observed_at, now)
        if ahead is not None:
            raise AccountsRefused(ahead)
        return self.accounts.replace_each(report, now)
