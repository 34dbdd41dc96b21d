"""`Allocations` in PostgreSQL: sightings renewed in one statement, changes written as sets (P7, P8, P12, X7).

A report takes one transaction when nothing changed, two when something did. `NOTIFY` is never said here (O4).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.kernel.aggregates import request_digest
from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import ConstraintViolated, TransactionConflict
from central.kernel.errors import CorruptState
from central.kernel.observability import event
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.queries import load_queries
from central.kernel.times import format_rfc3339, stored_instant
from central.provisioning.adapters.arrays import hex_array, plain_array, text_array
from central.provisioning.adapters.rows import (
    CountRow,
    Renewed,
    ReportRow,
    SavedRow,
    Standing,
    StandingRow,
    decode_answer,
    decode_answers,
    encode_answer,
    encode_answers,
    standing_of,
)
from central.provisioning.adapters.snapshots import encode_snapshot, version_digest
from central.provisioning.application.ports import Decide, Renewal
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Allocation, Saved
from central.provisioning.domain.decision import Outcome, RefusalCode
from central.provisioning.domain.ids import AllocationId, command_id

REPORTS_KEPT: Final = timedelta(days=7)
"""How long a report's own receipt is kept. Receipts of changes are kept for ever."""

_LOG = logging.getLogger("central.provisioning")
_RACES: Final = frozenset({"aggregate_versions_pkey", "receipts_pkey", "allocation_sightings_pkey"})


@dataclass(frozen=True, slots=True)
class _Change:
    """One new version of a report."""

    position: int
    version: int
    after: Allocation


class PostgresAllocations:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.provisioning")

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
            recorded = self._recorded(tx, report)
            if recorded is not None:
                return recorded
            answers = dict(settled) | self._decide_all(tx, report, order, decide, now)
            answered = [answers[position] for position in range(len(answers))]
            return self._record(tx, report, answered, now)

        return self._database.run(work, repeatable=True)

    def _renew(self, tx: Transaction, report: Report, order: Sequence[int], now: datetime) -> Renewal:
        self._lock(tx, report)
        renewed = tx.one(
            Renewed,
            self._queries["renew"],
            {
                "ids": plain_array(report.allocation_ids[position] for position in order),
                "contents": plain_array(report.contents[position] for position in order),
                "site": report.site,
                "observed_at": report.observed_at,
            },
        )
        seen = {revision: Answered(Outcome.SEEN, revision) for revision in set(renewed.revisions)}
        settled = {
            order[n - 1]: seen[revision]
            for n, revision in zip(renewed.positions, renewed.revisions, strict=True)
        }
        undecided: list[int] = []
        unproven: list[int] = []
        if len(settled) < len(order):
            recorded = self._recorded(tx, report)
            if recorded is not None:
                return Renewal(recorded, {}, (), ())
            missed = [position for position in order if position not in settled]
            for position, row in zip(missed, self._standings(tx, report, missed), strict=True):
                answer = _settle(report, position, row)
                if answer is not None:
                    settled[position] = answer
                    continue
                undecided.append(position)
                if row.standing is None or row.standing == Standing.WAITING:
                    unproven.append(position)
        if undecided:
            return Renewal(None, settled, undecided, unproven)
        answered = [settled[position] for position in range(len(settled))]
        return Renewal(self._record(tx, report, answered, now), {}, (), ())

    def _lock(self, tx: Transaction, report: Report) -> None:
        tx.execute(self._queries["lock_site"], {"site": report.site})

    def _standings(self, tx: Transaction, report: Report, missed: Sequence[int]) -> list[StandingRow]:
        ids = [report.allocation_ids[position] for position in missed]
        commands = [command_id(report.report_id, AllocationId(UUID(text))) for text in ids]
        return tx.all(
            StandingRow,
            self._queries["standings"],
            {"ids": plain_array(ids), "commands": plain_array(commands)},
        )

    def _recorded(self, tx: Transaction, report: Report) -> Sequence[Answered] | None:
        row = tx.maybe(
            ReportRow, self._queries["report"], {"site": report.site, "report_id": report.report_id}
        )
        if row is None:
            return None
        if row.digest != _report_digest(report):
            raise _reused()
        return decode_answers(row.answers, len(report.allocation_ids))

    def _record(
        self, tx: Transaction, report: Report, answered: Sequence[Answered], now: datetime
    ) -> Sequence[Answered]:
        """Keeps the answers and returns them; those kept before, if this report was answered meanwhile."""
        added = tx.execute(
            self._queries["add_report"],
            {
                "site": report.site,
                "report_id": report.report_id,
                "digest": _report_digest(report),
                "answers": encode_answers(answered),
                "now": now,
                "forget_before": now - REPORTS_KEPT,
            },
        )
        if added == 1:
            return answered
        recorded = self._recorded(tx, report)
        if recorded is None:
            raise TransactionConflict(f"report {report.report_id} was forgotten while it was answered")
        return recorded

    def _decide_all(
        self, tx: Transaction, report: Report, order: Sequence[int], decide: Decide, now: datetime
    ) -> dict[int, Answered]:
        ids = [report.allocation_ids[position] for position in order]
        tx.execute(self._queries["lock_sightings"], {"ids": plain_array(ids), "site": report.site})
        found = self._load(tx, ids)
        answers: dict[int, Answered] = {}
        changed: list[_Change] = []
        touched: list[tuple[int, int]] = []
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
                changed.append(_Change(position, version + 1, decision.allocation))
            elif decision.outcome is Outcome.SEEN:
                touched.append((position, version))
        self._write(tx, report, changed, now)
        self._touch(tx, report, touched)
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
        if missing and tx.one(CountRow, self._queries["orphans"], {"ids": plain_array(missing)}).orphans:
            for text in missing:
                if tx.one(CountRow, self._queries["orphans"], {"ids": plain_array([text])}).orphans:
                    found[text] = CorruptState(f"allocation {text} has rows but no head")
        return found

    def _write(self, tx: Transaction, report: Report, changed: Sequence[_Change], now: datetime) -> None:
        """Versions, heads, sightings and receipts of every change: four statements whatever their number."""
        if not changed:
            return
        params = _changes(report, changed) | {"now": now}
        try:
            tx.execute(self._queries["add_versions"], params)
            heads = tx.execute(self._queries["move_heads"], params)
            sightings = tx.execute(self._queries["move_sightings"], params)
            tx.execute(self._queries["add_receipts"], params)
        except ConstraintViolated as error:
            if error.constraint in _RACES:
                raise TransactionConflict("an allocation was changed by another Site meanwhile") from None
            raise
        if not heads == sightings == len(changed):
            raise TransactionConflict("an allocation moved while it was decided")

    def _touch(self, tx: Transaction, report: Report, touched: Sequence[tuple[int, int]]) -> None:
        if not touched:
            return
        params = {
            "ids": plain_array(report.allocation_ids[position] for position, _ in touched),
            "versions": plain_array(version for _, version in touched),
            "contents": plain_array(report.contents[position] for position, _ in touched),
            "site": report.site,
            "observed_at": report.observed_at,
        }
        if tx.execute(self._queries["touch_sightings"], params) != len(touched):
            raise TransactionConflict("an allocation moved while it was decided")


def _sorted(report: Report, positions: Sequence[int]) -> list[int]:
    """One order of ids for every statement: two reports never wait for each other in a ring."""
    return sorted(positions, key=report.allocation_ids.__getitem__)


def _settle(report: Report, position: int, row: StandingRow) -> Answered | None:
    """What needs no decision: a command answered before, content that stands exactly so (see `decide`)."""
    if row.request_digest is not None and row.answer is not None:
        if row.request_digest != _command_digest(report, position):
            raise _reused()
        return decode_answer(row.answer)
    standing, seen_at, content = row.standing, row.seen_at, row.content
    if standing is None or seen_at is None or content is None or standing == Standing.WAITING:
        return None
    if row.site != report.site or content.hex != report.contents[position]:
        return None
    if report.observed_at < stored_instant(seen_at):
        return Answered(Outcome.STALE_REPORT, row.revision)
    return Answered(Outcome.UNCHANGED, row.revision)


def _changes(report: Report, changed: Sequence[_Change]) -> dict[str, object]:
    """The new versions as columns."""
    ids = [change.after.allocation_id for change in changed]
    versions = [change.version for change in changed]
    snapshots = [encode_snapshot(change.after) for change in changed]
    digests = map(version_digest, ids, versions, snapshots)
    receipts = [encode_answer(Answered(Outcome.CHANGED, change.after.revision)) for change in changed]
    return {
        "ids": plain_array(ids),
        "versions": plain_array(versions),
        "commands": plain_array(command_id(report.report_id, allocation) for allocation in ids),
        "snapshots": text_array(snapshot.decode() for snapshot in snapshots),
        "digests": hex_array(digests),
        "projects": plain_array(change.after.facts.project_id for change in changed),
        "revisions": plain_array(change.after.revision for change in changed),
        "standings": plain_array(standing_of(change.after).value for change in changed),
        "contents": plain_array(report.contents[change.position] for change in changed),
        "request_digests": hex_array(_command_digest(report, change.position) for change in changed),
        "answers": hex_array(receipts),
        "site": report.site,
        "observed_at": report.observed_at,
    }


def _report_digest(report: Report) -> bytes:
    """Everything a report says; ids and contents have one length each, so their joins are unambiguous."""
    return request_digest(
        format_rfc3339(report.observed_at).encode(),
        "".join(report.allocation_ids).encode(),
        "".join(report.contents).encode(),
    )


def _command_digest(report: Report, position: int) -> bytes:
    """Everything a report says of one resource."""
    return request_digest(
        report.site.encode(),
        format_rfc3339(report.observed_at).encode(),
        report.allocation_ids[position].encode(),
        report.contents[position].encode(),
    )


def _reused() -> Problem:
    return Problem(COMMAND_REUSED, "this reportId was used for another report; a new report needs a new id")
