"""A Site reports the complete set of an allocation's accounts (P21). Nothing in it grants or removes one."""

from dataclasses import dataclass
from datetime import datetime

from central.provisioning.application.account_ports import AccountReport, NativeAccounts
from central.provisioning.domain.account_report import AccountsOutcome, AccountsRefusal, ahead_refusal


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
        """What became of the report. Raises `AccountsRefused`, `Unavailable`, `Problem`."""
        answer = ahead_refusal(report.observed_at, now) or self.accounts.replace(report, now)
        if isinstance(answer, AccountsRefusal):
            raise AccountsRefused(answer)
        return answer
