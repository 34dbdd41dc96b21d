"""What a report and its commands were told, kept so that a retry hears the same (X7, P12).

A report's own receipt holds all its answers and is forgotten after `REPORTS_KEPT`. Each change it made has a
receipt of its own, under the command id of report and allocation, for ever.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from struct import Struct
from typing import Final

from central.kernel.aggregates import framed, request_digest
from central.kernel.binary_arrays import uuid_text_array
from central.kernel.database import Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.queries import Queries
from central.provisioning.adapters.rows import (
    ReceiptRow,
    ReportRow,
    decode_answer,
    decode_answers,
    encode_answers,
)
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.decision import Outcome
from central.provisioning.domain.ids import command_ids

REPORTS_KEPT: Final = timedelta(days=7)
_REST: Final = Struct(">Q36sQ32s")
"""`framed` of an allocation's id and a content in one call; both have one length."""

_REPEATS: Final = frozenset(
    {Outcome.UNCHANGED, Outcome.STALE_REPORT, Outcome.CONFLICTING_REPORT, Outcome.REFUSED}
)


class ReportReceipts:
    """Receipts of reports; every call stands under the Site's lock."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def recorded(self, tx: Transaction, report: Report) -> Sequence[Answered] | None:
        """The answers this report was given before; raises if its id was another report's."""
        params = {"site": report.site, "report_id": report.report_id}
        row = tx.maybe(ReportRow, self._queries["report"], params)
        if row is None:
            return None
        if row.digest != _report_digest(report):
            raise reused()
        return decode_answers(row.answers, len(report.allocation_ids))

    def record(
        self, tx: Transaction, report: Report, answers: Mapping[int, Answered], now: datetime
    ) -> Sequence[Answered]:
        """Keeps the answers and returns them in order; those kept before, if it was answered meanwhile."""
        final = self._earlier(tx, report, answers)
        answered = [final[position] for position in range(len(final))]
        params = {
            "site": report.site,
            "report_id": report.report_id,
            "digest": _report_digest(report),
            "answers": encode_answers(answered),
            "now": now,
            "forget_before": now - REPORTS_KEPT,
        }
        if tx.execute(self._queries["add_report"], params) == 1:
            return answered
        recorded = self.recorded(tx, report)
        if recorded is None:
            raise TransactionConflict(f"report {report.report_id} was forgotten while it was answered")
        return recorded

    def _earlier(
        self, tx: Transaction, report: Report, answers: Mapping[int, Answered]
    ) -> Mapping[int, Answered]:
        """The answers, those of commands decided before in their place.

        Asked for after the report's own receipt was forgotten. A command that changed something is no newer
        than what it left, so it is met again as one of `_REPEATS` only.
        """
        asked = [position for position, answer in answers.items() if answer.outcome in _REPEATS]
        if not asked:
            return answers
        commands = uuid_text_array(commands_of(report, asked))
        found = tx.all(ReceiptRow, self._queries["receipts"], {"commands": commands})
        earlier: dict[int, Answered] = {}
        for position, row in zip(asked, found, strict=True):
            if row.request_digest is not None and row.answer is not None:
                if [row.request_digest] != command_digests(report, [position]):
                    raise reused()
                earlier[position] = decode_answer(row.answer)
        return {**answers, **earlier}


def commands_of(report: Report, positions: Sequence[int]) -> list[str]:
    """What a report asks of each of these resources."""
    return command_ids(report.report_id, [report.allocation_ids[position] for position in positions])


def command_digests(report: Report, positions: Sequence[int]) -> list[bytes]:
    """Everything a report says of each of these resources."""
    common = framed(report.site.encode(), report.observed_at.isoformat().encode())
    ids, contents = report.allocation_ids, report.contents
    rest = [_REST.pack(36, ids[position].encode(), 32, contents[position].encode()) for position in positions]
    return [hashlib.sha256(common + one).digest() for one in rest]


def reused() -> Problem:
    """The refusal of an id that was used for something else."""
    return Problem(COMMAND_REUSED, "this reportId was used for another report; a new report needs a new id")


def _report_digest(report: Report) -> bytes:
    """Everything a report says; ids and contents have one length each, so their joins are unambiguous."""
    return request_digest(
        report.observed_at.isoformat().encode(),
        "".join(report.allocation_ids).encode(),
        "".join(report.contents).encode(),
    )
