"""`Allocations` in PostgreSQL: sightings renewed in one statement, changes written as sets (P7, P8, P12, X7).

A report takes one transaction when nothing changed, two when something did. `NOTIFY` is never said here (O4).
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from central.kernel.database import Database, Transaction
from central.kernel.errors import CorruptState
from central.kernel.observability import event
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant
from central.provisioning.adapters.arrays import plain_array
from central.provisioning.adapters.change_sets import Change, Touch, write_changes, write_touches
from central.provisioning.adapters.report_receipts import ReportReceipts
from central.provisioning.adapters.rows import (
    CountRow,
    Renewed,
    SavedRow,
    Standing,
    StandingRow,
)
from central.provisioning.application.ports import Decide, Renewal
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.decision import Outcome, RefusalCode

_LOG = logging.getLogger("central.provisioning")


class PostgresAllocations:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning")
        self._receipts = ReportReceipts(self._queries)

    def renew(self, report: Report, now: datetime) -> Renewal:
        """See `Allocations`."""
        order = _sorted(report, range(len(report.allocation_ids)))
        return self._database.run(lambda tx: self._renew(tx, report, order, now), repeatable=True)

    def decide(
        self,
        report: Report,
        settled: Mapping[int, Answered],
        undecided: Sequence[int],
        decide: Decide,
        now: datetime,
    ) -> Sequence[Answered]:
        """See `Allocations`."""
        order = _sorted(report, undecided)

        def work(tx: Transaction) -> Sequence[Answered]:
            self._lock(tx, report)
            recorded = self._receipts.recorded(tx, report)
            if recorded is not None:
                return recorded
            decided = self._decide_all(tx, report, order, decide, now)
            return self._receipts.record(tx, report, {**settled, **decided}, now)

        return self._database.run(work, repeatable=True)

    def _renew(self, tx: Transaction, report: Report, order: Sequence[int], now: datetime) -> Renewal:
        self._lock(tx, report)
        settled = self._renewed(tx, report, order)
        undecided: list[int] = []
        unproven: list[int] = []
        if len(settled) < len(order):
            recorded = self._receipts.recorded(tx, report)
            if recorded is not None:
                return Renewal(recorded, {}, (), ())
            missed = [position for position in order if position not in settled]
            ids = plain_array(report.allocation_ids[position] for position in missed)
            rows = tx.all(StandingRow, self._queries["standings"], {"ids": ids})
            for position, row in zip(missed, rows, strict=True):
                answer = _settle(report, position, row)
                if answer is not None:
                    settled[position] = answer
                    continue
                undecided.append(position)
                if row.standing is None or row.standing == Standing.WAITING:
                    unproven.append(position)
        if undecided:
            return Renewal(None, settled, undecided, unproven)
        return Renewal(self._receipts.record(tx, report, settled, now), {}, (), ())

    def _lock(self, tx: Transaction, report: Report) -> None:
        tx.execute(self._queries["lock_site"], {"site": report.site})

    def _renewed(self, tx: Transaction, report: Report, order: Sequence[int]) -> dict[int, Answered]:
        """What was renewed, by position."""
        params = {
            "ids": plain_array(report.allocation_ids[position] for position in order),
            "contents": plain_array(report.contents[position] for position in order),
            "site": report.site,
            "observed_at": report.observed_at,
        }
        renewed = tx.one(Renewed, self._queries["renew"], params)
        seen = {revision: Answered(Outcome.SEEN, revision) for revision in set(renewed.revisions)}
        pairs = zip(renewed.positions, renewed.revisions, strict=True)
        return {order[n - 1]: seen[revision] for n, revision in pairs}

    def _decide_all(
        self, tx: Transaction, report: Report, order: Sequence[int], decide: Decide, now: datetime
    ) -> dict[int, Answered]:
        ids = [report.allocation_ids[position] for position in order]
        tx.execute(self._queries["lock_sightings"], {"ids": plain_array(ids), "site": report.site})
        found = self._load(tx, ids)
        answers: dict[int, Answered] = {}
        changes: list[Change] = []
        touches: list[Touch] = []
        for position, text in zip(order, ids, strict=True):
            saved = found.get(text)
            if isinstance(saved, CorruptState):
                event(_LOG, "state_corrupt", level=logging.CRITICAL, reason=str(saved))
                answers[position] = Answered(Outcome.REFUSED, None, RefusalCode.STATE_CORRUPT)
                continue
            decision = decide(saved, report.observation(position))
            answers[position] = Answered(decision.outcome, decision.revision, decision.code)
            version = saved.version if saved else 0
            if decision.allocation is not None:
                changes.append(Change(position, version + 1, decision.allocation))
            elif decision.outcome is Outcome.SEEN:
                touches.append(Touch(position, version))
        write_changes(tx, self._queries, report, changes, now)
        write_touches(tx, self._queries, report, touches)
        return answers

    def _load(self, tx: Transaction, ids: Sequence[str]) -> dict[str, Saved | CorruptState]:
        """What is saved by id text; a corrupt one as its error, so that it stops no other."""
        found: dict[str, Saved | CorruptState] = {}
        for row in tx.all(SavedRow, self._queries["saved_by_ids"], {"ids": plain_array(ids)}):
            try:
                found[str(row.id)] = row.saved()
            except CorruptState as error:
                found[str(row.id)] = error
        missing = [text for text in ids if text not in found]
        if missing and self._orphans(tx, missing):
            for text in missing:
                if self._orphans(tx, [text]):
                    found[text] = CorruptState(f"allocation {text} has rows but no head")
        return found

    def _orphans(self, tx: Transaction, ids: Sequence[str]) -> int:
        return tx.one(CountRow, self._queries["orphans"], {"ids": plain_array(ids)}).orphans


def _sorted(report: Report, positions: Sequence[int]) -> list[int]:
    """One order of ids for every statement: two reports never wait for each other in a ring."""
    return sorted(positions, key=report.allocation_ids.__getitem__)


def _settle(report: Report, position: int, row: StandingRow) -> Answered | None:
    """The answer where content stands exactly so, the same as `decide` gives; None where it must decide."""
    standing, seen_at, content = row.standing, row.seen_at, row.content
    if standing is None or seen_at is None or content is None or standing == Standing.WAITING:
        return None
    if row.site != report.site or content.hex != report.contents[position]:
        return None
    if report.observed_at < stored_instant(seen_at):
        return Answered(Outcome.STALE_REPORT, row.revision)
    return Answered(Outcome.UNCHANGED, row.revision)
