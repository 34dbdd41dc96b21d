"""The reporter's journal in SQLite: what was applied, and the reports on their way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from sqlite3 import Row
from uuid import UUID

from site_bundle.kernel.journal import Journal, open_journal
from site_bundle.kernel.sql import load_statements
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.marker import Identity
from site_bundle.reporter.domain.presence import Known
from site_bundle.reporter.domain.sources import Applied

_SQL = Path(__file__).parents[1] / "sql"
JOURNAL_NAME = "journal.sqlite"
_PAGE = 500  # rows


def open_report_journal(path: Path) -> SqliteReportJournal:
    """Opens or makes the journal at `path`. JournalRefusedError or UnavailableError."""
    _, migrations = statements()
    return SqliteReportJournal(open_journal(path, migrations=migrations))


@cache
def statements() -> tuple[dict[str, str], tuple[str, ...]]:
    """Queries by name, and the migrations in order; read once, before a process gives up root if it does."""
    scripts = tuple((_SQL / name).read_text("utf-8") for name in ("001_journal.sql", "002_people.sql"))
    return load_statements(_SQL / "queries.sql"), scripts


class SqliteReportJournal:
    """The ports `AppliedJournal`, `SeenJournal` and `Outbox`. Each method is one transaction."""

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

    def seen(self) -> Iterator[Known]:
        rows = self._seen_after("")
        while rows:
            for row in rows:
                yield Known(
                    row["username"],
                    row["dn"],
                    row["group_dn"],
                    row["group_gid"],
                    gone=bool(row["gone"]),
                    accepted=bool(row["accepted"]),
                )
            rows = self._seen_after(rows[-1]["username"])

    def _seen_after(self, name: str) -> list[Row]:
        """A page: not all of them are held at once (S10)."""
        return self._journal.read(self._sql["seen"], {"after": name, "page": _PAGE})

    def record_seen(self, changed: Sequence[Known], forgotten: Sequence[str], now: datetime) -> None:
        rows = [
            {
                "username": row.name,
                "dn": row.dn,
                "group_dn": row.group_dn,
                "group_gid": row.group_gid,
                "gone": int(row.gone),
                "accepted": int(row.accepted),
                "now": render_time(now),
            }
            for row in changed
        ]
        with self._journal.transaction() as connection:
            connection.executemany(self._sql["record_seen"], rows)
            connection.executemany(self._sql["forget_seen"], [{"username": name} for name in forgotten])

    def accept_absence(self, username: str, *, by: str, reason: str, now: datetime) -> None:
        """An administrator's word, kept for good; it holds until the directory shows the name again."""
        values = {"username": username, "by": by, "reason": reason, "now": render_time(now)}
        with self._journal.transaction() as connection:
            connection.execute(self._sql["accept_absence"], values)
            connection.execute(self._sql["record_acceptance"], values)

    def acceptances(self) -> list[tuple[str, str, str, datetime]]:
        """Name, who accepted, why and when; the oldest first."""
        return [
            (row["username"], row["accepted_by"], row["reason"], parse_time(row["accepted_at"]))
            for row in self._journal.read(self._sql["acceptances"], {})
        ]

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
