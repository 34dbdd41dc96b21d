"""`NativeAccounts` and `AccountReads` in PostgreSQL (P21, P23, P24, X7).

An unchanged set is one statement, and so are many. Changed ones are written as three whatever their number
and size, with the report's receipt.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.aggregates import request_digest
from central.kernel.binary_arrays import uuid_array, uuid_text_array
from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.errors import CorruptState
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.provisioning.adapters.account_rows import (
    AccountReceiptRow,
    MissedSet,
    PartyRow,
    RenewedSet,
    StandingSet,
    party_accounts,
)
from central.provisioning.adapters.account_writes import Replacement, write_sets
from central.provisioning.adapters.report_receipts import REPORTS_KEPT, reused
from central.provisioning.application.account_ports import AccountReport, AccountSet
from central.provisioning.domain.account_report import AccountsOutcome, AccountsRefusal, Judged, Told, judge
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.ids import AllocationId

_TOLD: Final[dict[str, Told]] = {
    word.value: word for kind in (AccountsOutcome, AccountsRefusal) for word in kind
}


class PostgresAccounts:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning", "accounts.sql")

    def replace(self, report: AccountReport, now: datetime) -> Told:
        """See `NativeAccounts`."""
        (reported,) = report.sets
        params = {
            **_params(report, now),
            "allocation": reported.allocation_id,
            "content": UUID(reported.content),
        }

        def work(tx: Transaction) -> Told:
            renewed = tx.maybe(RenewedSet, self._queries["renew_set"], params)
            if renewed is not None:
                if renewed.kept == 0:
                    raise reused()
                return AccountsOutcome.UNCHANGED
            tx.execute(self._queries["lock_set"], params)
            earlier = self._earlier(tx, params)
            if earlier is not None and earlier.digest == params["digest"]:
                return _TOLD[earlier.outcome]
            (told,) = self._judge(tx, report, [reported], params, alone=True)
            if isinstance(told, AccountsRefusal):
                return told
            if earlier is not None:
                raise reused()
            self._keep(tx, params, [told])
            return told

        return self._database.run(work, repeatable=True)

    def replace_each(self, report: AccountReport, now: datetime) -> Sequence[Told]:
        """See `NativeAccounts`."""
        params = _params(report, now)

        def work(tx: Transaction) -> Sequence[Told]:
            tx.execute(self._queries["lock_site"], params)
            earlier = self._earlier(tx, params)
            if earlier is not None:
                if earlier.digest != params["digest"]:
                    raise reused()
                return [_TOLD[word] for word in earlier.outcome.split(",")]
            told = self._renewed(tx, report, params)
            asked = [position for position, answer in enumerate(told) if answer is None]
            judged = self._judge(tx, report, [report.sets[one] for one in asked], params) if asked else ()
            by_position = dict(zip(asked, judged, strict=True))
            answers = [by_position[place] if one is None else one for place, one in enumerate(told)]
            tx.execute(self._queries["forget_account_reports"], params)
            self._keep(tx, params, answers)
            return answers

        return self._database.run(work, repeatable=True)

    def of_party(self, allocation: AllocationId, site: Site, party: UUID) -> PartyAccounts | None:
        """See `AccountReads`."""
        params = {"allocation": allocation, "party": party}
        rows = self._database.run(
            lambda tx: tx.all(PartyRow, self._queries["accounts_of_party"], params), repeatable=True
        )
        return party_accounts(rows, site)

    def _renewed(
        self, tx: Transaction, report: AccountReport, params: dict[str, object]
    ) -> Sequence[Told | None]:
        """What is told of refused sets and of those that are renewed; None: to be judged."""
        told: list[Told | None] = [each.refused or AccountsOutcome.UNCHANGED for each in report.sets]
        taken = [place for place, each in enumerate(report.sets) if each.refused is None]
        columns = {
            **params,
            "allocations": uuid_array(report.sets[place].allocation_id for place in taken),
            "contents": uuid_text_array(report.sets[place].content for place in taken),
        }
        for missed in tx.all(MissedSet, self._queries["renew_sets"], columns):
            told[taken[missed.position]] = None
        return told

    def _judge(
        self,
        tx: Transaction,
        report: AccountReport,
        sets: Sequence[AccountSet],
        params: dict[str, object],
        *,
        alone: bool = False,
    ) -> Sequence[Told]:
        """The outcome of each set, the recorded ones written. `alone`: corrupt state is raised."""
        asked = {**params, "allocations": uuid_array(each.allocation_id for each in sets)}
        told: list[Told] = []
        replacements = []
        for each, standing in zip(
            sets, tx.all(StandingSet, self._queries["standing_sets"], asked), strict=True
        ):
            try:
                saved = standing.saved(report.site)
            except CorruptState:
                if alone:
                    raise
                told.append(AccountsRefusal.STATE_CORRUPT)
                continue
            judged = judge(saved, report.observed_at, each.content, allocation_known=standing.known)
            if isinstance(judged, Judged):
                if judged.replaces:
                    replacements.append(Replacement(each, saved.version + 1 if saved else 1))
                elif judged.renews:
                    raise TransactionConflict("a set became the reported one while it was judged")
            told.append(judged.outcome if isinstance(judged, Judged) else judged)
        if replacements:
            write_sets(tx, self._queries, params, replacements)
        return told

    def _earlier(self, tx: Transaction, params: dict[str, object]) -> AccountReceiptRow | None:
        return tx.maybe(AccountReceiptRow, self._queries["account_report"], params)

    def _keep(self, tx: Transaction, params: dict[str, object], told: Sequence[Told]) -> None:
        kept = {**params, "outcome": ",".join(told)}
        if tx.execute(self._queries["add_account_report"], kept) != 1:
            raise TransactionConflict("the report's id was used for another report meanwhile")


def _params(report: AccountReport, now: datetime) -> dict[str, object]:
    """What names the report in every statement; its receipt covers everything it says."""
    return {
        "site": report.site,
        "report_id": report.report_id,
        "observed_at": report.observed_at,
        "now": now,
        "forget_before": now - REPORTS_KEPT,
        # Ids and contents have one length each, so their joins are unambiguous.
        "digest": request_digest(
            report.observed_at.isoformat().encode(),
            b"".join([each.allocation_id.bytes for each in report.sets]),
            "".join([each.content for each in report.sets]).encode(),
        ),
    }
