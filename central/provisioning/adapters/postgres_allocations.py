"""`Allocations` in PostgreSQL: sightings renewed in one statement, changes written as sets (P7, P8, P12, X7).

A report takes one transaction; two where a Project must be looked up, which is done between them (F08).
Every write stands under the Site's lock and moves a row only from the version that was decided upon. `NOTIFY`
is never said here (O4).
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from central.kernel.binary_arrays import integer_array, uuid_array, uuid_text_array
from central.kernel.database import Database, Transaction
from central.kernel.errors import CorruptState
from central.kernel.observability import event
from central.kernel.queries import load_queries
from central.provisioning.adapters.change_sets import Change, ChangeSets, Touch
from central.provisioning.adapters.report_receipts import ReportReceipts
from central.provisioning.adapters.rows import Confirmed, Renewed, SavedRow, Standing, standing_of
from central.provisioning.adapters.snapshots import Known, KnownVersions
from central.provisioning.application.ports import Decide, Settlement
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.decision import Outcome, RefusalCode
from central.provisioning.domain.ids import uuid_of

_LOG = logging.getLogger("central.provisioning")

Found = Saved | CorruptState | None
"""What is saved of one allocation; None where nothing is."""


class PostgresAllocations:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning")
        self._receipts = ReportReceipts(self._queries)
        self._known = KnownVersions()
        self._sets = ChangeSets(self._queries, self._known)

    def settle(self, report: Report, decide: Decide, now: datetime) -> Settlement:
        """See `Allocations`."""
        return self._database.run(lambda tx: self._settle(tx, report, decide, now), repeatable=True)

    def decide(
        self,
        report: Report,
        settled: Mapping[int, Answered],
        undecided: Sequence[int],
        decide: Decide,
        now: datetime,
    ) -> Sequence[Answered]:
        """See `Allocations`."""

        def work(tx: Transaction) -> Sequence[Answered]:
            self._lock(tx, report)
            recorded = self._receipts.recorded(tx, report)
            if recorded is not None:
                return recorded
            decided = self._decide_all(tx, report, self._load(tx, report, undecided), decide, now)
            return self._receipts.record(tx, report, {**settled, **decided}, now)

        return self._database.run(work, repeatable=True)

    def _settle(self, tx: Transaction, report: Report, decide: Decide, now: datetime) -> Settlement:
        self._lock(tx, report)
        settled = self._renewed(tx, report)
        if len(settled) < len(report.order):
            recorded = self._receipts.recorded(tx, report)
            if recorded is not None:
                return Settlement(recorded, {}, (), ())
            found = self._load(tx, report, [position for position in report.order if position not in settled])
            unproven = [position for position, saved in found.items() if _is_unproven(saved)]
            if unproven:
                return Settlement(None, settled, list(found), unproven)
            settled |= self._decide_all(tx, report, found, decide, now)
        return Settlement(self._receipts.record(tx, report, settled, now), {}, (), ())

    def _lock(self, tx: Transaction, report: Report) -> None:
        tx.execute(self._queries["lock_site"], {"site": report.site})

    def _renewed(self, tx: Transaction, report: Report) -> dict[int, Answered]:
        """What was renewed, by position.

        Every statement has the ids in one order, so that two reports never wait for each other in a ring.
        """
        order = report.order
        params = {
            "ids": uuid_text_array(report.ordered_ids),
            "contents": uuid_text_array(report.ordered_contents),
            "site": report.site,
            "observed_at": report.observed_at,
        }
        renewed = tx.one(Renewed, self._queries["renew"], params)
        seen = {revision: Answered(Outcome.SEEN, revision) for revision in set(renewed.revisions)}
        pairs = zip(renewed.positions, renewed.revisions, strict=True)
        return {order[n - 1]: seen[revision] for n, revision in pairs}

    def _decide_all(
        self, tx: Transaction, report: Report, found: Mapping[int, Found], decide: Decide, now: datetime
    ) -> dict[int, Answered]:
        answers: dict[int, Answered] = {}
        changes: list[Change] = []
        touches: list[Touch] = []
        for position, saved in found.items():
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
        self._sets.change(tx, report, changes, now)
        self._sets.touch(tx, report, touches)
        return answers

    def _load(self, tx: Transaction, report: Report, positions: Sequence[int]) -> dict[int, Found]:
        """What is saved, by position in this order; a corrupt one as its error, so that it stops no other."""
        confirmed = self._confirmed(tx, report, positions)
        rest = [position for position in positions if position not in confirmed]
        if not rest:
            return confirmed
        read = self._read(tx, report, rest)
        return {
            position: confirmed[position] if position in confirmed else read[position]
            for position in positions
        }

    def _confirmed(self, tx: Transaction, report: Report, positions: Sequence[int]) -> dict[int, Found]:
        """Those that stand as this process knows them and were last seen before this report. It needs neither
        when that was nor what was said then, which count only at a time before or equal.
        """
        asked: list[tuple[int, Known]] = []
        for position in positions:
            known = self._known.of(uuid_of(report.allocation_ids[position]))
            if known is None or known.allocation.observed_at >= report.observed_at:
                continue
            if standing_of(known.allocation) is Standing.LIVE:
                asked.append((position, known))
        if not asked:
            return {}
        params = {
            "ids": uuid_text_array(report.allocation_ids[position] for position, _ in asked),
            "versions": integer_array([known.version for _, known in asked]),
            "projects": uuid_array(known.allocation.facts.project_id for _, known in asked),
            "revisions": integer_array([known.allocation.revision for _, known in asked]),
            "digests": b"".join([known.digest for _, known in asked]),
            "site": report.site,
            "observed_at": report.observed_at,
        }
        found: dict[int, Found] = {}
        for n in tx.one(Confirmed, self._queries["confirm"], params).positions:
            position, known = asked[n - 1]
            before = known.allocation
            found[position] = Saved(before, known.version, report.contents[position], before.observed_at)
        return found

    def _read(self, tx: Transaction, report: Report, positions: Sequence[int]) -> dict[int, Found]:
        ids = [report.allocation_ids[position] for position in positions]
        rows = tx.all(SavedRow, self._queries["saved"], {"ids": uuid_text_array(ids)})
        found: dict[int, Found] = {}
        for position, text, row in zip(positions, ids, rows, strict=True):
            try:
                found[position] = row.saved(uuid_of(text), self._known)
            except CorruptState as error:
                found[position] = error
        return found


def _is_unproven(saved: Found) -> bool:
    """Whether its Project must be looked up before it is decided (P3)."""
    return saved is None or (isinstance(saved, Saved) and saved.allocation.waits_for_project)
