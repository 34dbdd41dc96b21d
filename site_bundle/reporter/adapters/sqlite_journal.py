"""The reporter's journal in SQLite: what was applied, and the reports on their way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.journal import Journal, open_journal
from site_bundle.kernel.sql import load_statements
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.marker import Identity
from site_bundle.reporter.domain.sources import Applied

_SQL = Path(__file__).parents[1] / "sql"
JOURNAL_NAME = "journal.sqlite"


def open_report_journal(path: Path) -> SqliteReportJournal:
    """Opens or makes the journal at `path`. JournalRefusedError or UnavailableError."""
    _, migrations = statements()
    return SqliteReportJournal(open_journal(path, migrations=migrations))


@cache
def statements() -> tuple[dict[str, str], tuple[str, ...]]:
    """Queries by name, and the migrations in order; read once, before a process gives up root if it does."""
    script = (_SQL / "001_journal.sql").read_text("utf-8")
    return load_statements(_SQL / "queries.sql"), (script,)


class SqliteReportJournal:
    """The ports `AppliedJournal` and `Outbox`. Each method is one transaction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sql = statements()[0]

    def close(self) -> None:
        self._journal.close()

    def applied(self) -> Mapping[int, Applied]:
        return {
            row["association_id"]: Applied(
                row["association_id"],
                UUID(row["entry_uuid"]),
                UUID(row["party_id"]),
                Identity(UUID(row["binding_id"]), row["generation"]),
            )
            for row in self._journal.read(self._sql["applied"], {})
        }

    def record_applied(self, acts: Sequence[Applied], now: datetime) -> None:
        rows = [
            {
                "association_id": act.association_id,
                "entry_uuid": str(act.entry_uuid),
                "party_id": str(act.party_id),
                "binding_id": str(act.identity.binding_id),
                "generation": act.identity.generation,
                "now": render_time(now),
            }
            for act in acts
        ]
        with self._journal.transaction() as connection:
            connection.executemany(self._sql["record_applied"], rows)

    def keep(self, reports: Sequence[Report], now: datetime) -> None:
        with self._journal.transaction() as connection:
            (before,) = connection.execute(self._sql["latest"]).fetchone()
            connection.executemany(self._sql["keep"], [_row(report, now) for report in reports])
            connection.execute(self._sql["supersede"], {"before": before})

    def next(self, after: int) -> Report | None:
        rows = self._journal.read(self._sql["next"], {"after": after})
        if not rows:
            return None
        row = rows[0]
        return Report(
            report_id=UUID(row["report_id"]),
            kind=row["kind"],
            subjects=tuple(json.loads(row["subjects"])),
            observed_at=parse_time(row["observed_at"]),
            body=bytes(row["body"]),
            sequence=row["sequence"],
            tried=row["tried_at"] is not None,
        )

    def mark_tried(self, report: Report, now: datetime) -> None:
        tried = {"sequence": report.sequence, "now": render_time(now)}
        with self._journal.transaction() as connection:
            connection.execute(self._sql["mark_tried"], tried)

    def settle(self, report: Report) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["settle"], {"sequence": report.sequence})

    def split(self, report: Report, parts: Sequence[Report], now: datetime) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["settle"], {"sequence": report.sequence})
            connection.executemany(self._sql["keep"], [_row(part, now) for part in parts])

    def waiting(self) -> tuple[int, datetime | None]:
        row = self._journal.read(self._sql["waiting"], {})[0]
        return row["number"], parse_time(row["oldest"]) if row["oldest"] is not None else None


def _row(report: Report, now: datetime) -> dict[str, object]:
    return {
        "report_id": str(report.report_id),
        "kind": report.kind,
        "subjects": json.dumps(report.subjects),
        "observed_at": render_time(report.observed_at),
        "body": report.body,
        "now": render_time(now),
    }
