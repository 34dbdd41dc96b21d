"""`NativeAccounts` and `AccountReads` in PostgreSQL (P21, P23, P24, X7).

An unchanged set is one statement. A changed one is written as three whatever its size, with its receipt.
"""

from datetime import datetime
from uuid import UUID

from central.kernel.aggregates import request_digest
from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.provisioning.adapters.account_rows import (
    STATES,
    AccountReceiptRow,
    PartyRow,
    RenewedSet,
    StandingSet,
    party_accounts,
)
from central.provisioning.adapters.arrays import plain_array, text_array
from central.provisioning.adapters.report_receipts import REPORTS_KEPT, reused
from central.provisioning.application.account_ports import AccountReport
from central.provisioning.domain.account_report import AccountsOutcome, AccountsRefusal, judge
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.ids import AllocationId


class PostgresAccounts:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning", "accounts.sql")

    def replace(self, report: AccountReport, now: datetime) -> AccountsOutcome | AccountsRefusal:
        """See `NativeAccounts`."""
        params = _params(report, now)

        def work(tx: Transaction) -> AccountsOutcome | AccountsRefusal:
            renewed = tx.maybe(RenewedSet, self._queries["renew_set"], params)
            if renewed is None:
                return self._judge(tx, report, params)
            if renewed.kept == 0:
                raise reused()
            return AccountsOutcome.UNCHANGED

        return self._database.run(work, repeatable=True)

    def of_party(self, allocation: AllocationId, site: Site, party: UUID) -> PartyAccounts | None:
        """See `AccountReads`."""
        params = {"allocation": allocation, "party": party}
        rows = self._database.run(
            lambda tx: tx.all(PartyRow, self._queries["accounts_of_party"], params), repeatable=True
        )
        return party_accounts(rows, site)

    def _judge(
        self, tx: Transaction, report: AccountReport, params: dict[str, object]
    ) -> AccountsOutcome | AccountsRefusal:
        """Under the allocation's lock: the receipt of this very report, or a new judgement."""
        tx.execute(self._queries["lock_set"], params)
        receipt = tx.maybe(AccountReceiptRow, self._queries["account_report"], params)
        if receipt is not None and receipt.digest == params["digest"]:
            return AccountsOutcome(receipt.outcome)
        standing = tx.one(StandingSet, self._queries["standing_set"], params)
        saved = standing.saved(report.site)
        judged = judge(saved, report.observed_at, report.content, allocation_known=standing.known)
        if isinstance(judged, AccountsRefusal):
            return judged
        if receipt is not None:
            raise reused()
        if judged.replaces:
            self._write(tx, report, params, saved.version + 1 if saved else 1)
        elif judged.renews:
            raise TransactionConflict("the set became the reported one while it was judged")
        kept = {**params, "outcome": judged.outcome.value}
        if tx.execute(self._queries["add_account_report"], kept) != 1:
            raise TransactionConflict("the report's id was used for another allocation meanwhile")
        return judged.outcome

    def _write(self, tx: Transaction, report: AccountReport, params: dict[str, object], version: int) -> None:
        accounts = report.accounts()
        columns: dict[str, object] = {
            **params,
            "version": version,
            "count": len(accounts),
            "parties": plain_array(account.party_id for account in accounts),
            "bindings": plain_array(account.binding_id for account in accounts),
            "generations": plain_array(account.generation for account in accounts),
            "uids": text_array(account.native_uid for account in accounts),
            "names": text_array(account.name for account in accounts),
            "numbers": plain_array(account.uid_number for account in accounts),
            "states": plain_array(STATES[account.state] for account in accounts),
        }
        if tx.execute(self._queries["put_set"], columns) != 1:
            raise TransactionConflict("the set was replaced while it was judged")
        tx.execute(self._queries["mark_absent"], columns)
        if accounts:
            tx.execute(self._queries["put_accounts"], columns)


def _params(report: AccountReport, now: datetime) -> dict[str, object]:
    """What names the report in every statement; its receipt covers everything it says."""
    return {
        "site": report.site,
        "allocation": report.allocation_id,
        "report_id": report.report_id,
        "observed_at": report.observed_at,
        "content": UUID(report.content),
        "now": now,
        "forget_before": now - REPORTS_KEPT,
        "digest": request_digest(
            report.allocation_id.bytes, report.observed_at.isoformat().encode(), report.content.encode()
        ),
    }
