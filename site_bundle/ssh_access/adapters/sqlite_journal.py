"""The agent's journal in SQLite: feed state, desired keys with their verdicts, and the one report on its
way.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.journal import Journal, open_journal
from site_bundle.kernel.sql import load_statements
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.ssh_access.application.apply_changes import KeptKey
from site_bundle.ssh_access.application.report_results import Receipt, Report, Result
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Outcome, Verdict
from site_bundle.ssh_access.domain.feed import FeedState, Page
from site_bundle.ssh_access.domain.target import Target

_SQL = Path(__file__).parents[1] / "sql"
SCHEMA = 1


def open_key_journal(path: Path) -> SqliteKeyJournal:
    """Opens or makes the journal at `path`. JournalRefusedError or UnavailableError."""
    _, migrations = statements()
    return SqliteKeyJournal(open_journal(path, migrations=migrations))


@cache
def statements() -> tuple[dict[str, str], tuple[str, ...]]:
    """Queries by name, and the migrations in order; read once, before a process gives up root if it does."""
    script = (_SQL / "001_journal.sql").read_text("utf-8")
    return load_statements(_SQL / "queries.sql"), (script,)


class SqliteKeyJournal:
    """FeedJournal, KeyJournal, ReportJournal and AcceptanceJournal. Each method is one transaction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sql = statements()[0]

    def close(self) -> None:
        self._journal.close()

    # The feed.

    def feed_state(self) -> FeedState:
        row = self._one("feed_state")
        return FeedState(
            site=row["site"],
            accepted=_uuid(row["accepted"]),
            current=_uuid(row["current"]),
            cursor=row["cursor"],
            complete=bool(row["complete"]),
            rewound=bool(row["rewound"]),
        )

    def record_page(self, page: Page, now: datetime) -> None:
        rows = [_change_row(change, page.feed, now) for change in page.changes]
        with self._journal.transaction() as connection:
            connection.executemany(self._sql["record_change"], rows)
            connection.execute(
                self._sql["advance_feed"],
                {
                    "site": page.site,
                    "feed": str(page.feed),
                    "reach": page.reach,
                    "complete": int(not page.more),
                },
            )

    def restart_feed(self, feed: UUID) -> None:
        self._write("restart_feed", feed=str(feed))

    def rewind_feed(self) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["rewind_feed"])
            connection.execute(self._sql["disown_changes"])

    def accept_feed(self, feed: UUID) -> bool:
        with self._journal.transaction() as connection:
            accepted = connection.execute(self._sql["accept_feed"], {"feed": str(feed)}).rowcount == 1
            if accepted:
                connection.execute(self._sql["unsettle_held"])
        return accepted

    def unlisted_count(self) -> int:
        return int(self._one("unlisted_count")[0])

    def mark_unlisted(self, now: datetime) -> int:
        if not self.unlisted_count():
            return 0
        return self._write("mark_unlisted", now=render_time(now))

    # Desired keys.

    def unsettled_targets(self, after: str, limit: int) -> list[str]:
        return [row[0] for row in self._all("unsettled_targets", after=after, limit=limit)]

    def targets(self, after: str, limit: int) -> list[str]:
        return [row[0] for row in self._all("targets", after=after, limit=limit)]

    def has_unsettled(self) -> bool:
        return bool(self._one("has_unsettled")[0])

    def keys_of_targets(self, entry_uuids: Sequence[str]) -> tuple[KeptKey, ...]:
        return tuple(
            _kept(row) for row in self._all("keys_of_targets", targets=json.dumps(list(entry_uuids)))
        )

    def record_verdicts(self, verdicts: Sequence[tuple[DesiredKey, Verdict]], now: datetime) -> None:
        rows = [
            {
                "key_id": str(key.key_id),
                "change_id": str(key.change_id),
                "outcome": verdict.outcome.value,
                "code": verdict.code,
                "settled": int(verdict.outcome is not Outcome.PENDING),
                "now": render_time(now),
            }
            for key, verdict in verdicts
        ]
        with self._journal.transaction() as connection:
            connection.executemany(self._sql["record_verdict"], rows)

    # The report on its way.

    def open_report(self) -> Report | None:
        rows = self._all("open_report")
        if not rows:
            return None
        changes = tuple(UUID(row[0]) for row in self._all("report_changes"))
        return Report(UUID(rows[0]["report_id"]), bytes(rows[0]["body"]), changes)

    def unreported(self, limit: int) -> tuple[datetime, tuple[Result, ...]] | None:
        rows = self._all("unreported", limit=limit)
        if not rows:
            return None
        return parse_time(rows[0]["decided_at"]), tuple(_result(row) for row in rows)

    def has_unreported(self) -> bool:
        return bool(self._all("open_report")) or bool(self._one("has_unreported")[0])

    def keep_report(self, report: Report, results: Sequence[Result], now: datetime) -> None:
        rows = [
            {
                "position": position,
                "change_id": str(result.change_id),
                "key_id": str(result.key_id),
                "outcome": result.verdict.outcome.value,
                "code": result.verdict.code,
            }
            for position, result in enumerate(results)
        ]
        with self._journal.transaction() as connection:
            connection.execute(
                self._sql["keep_report"],
                {"report_id": str(report.report_id), "body": report.body, "now": render_time(now)},
            )
            connection.executemany(self._sql["keep_report_result"], rows)

    def close_report(self, receipts: Sequence[Receipt]) -> None:
        stale = [str(receipt.change_id) for receipt in receipts if receipt.outcome == "stale"]
        received = [str(receipt.change_id) for receipt in receipts if receipt.outcome != "stale"]
        with self._journal.transaction() as connection:
            connection.execute(self._sql["mark_reported"], {"received": json.dumps(received)})
            connection.execute(self._sql["unsettle_stale"], {"stale": json.dumps(stale)})
            connection.execute(self._sql["drop_report_results"])
            connection.execute(self._sql["drop_report"])

    def drop_report(self) -> None:
        self.close_report(())

    def decide_anew(self, now: datetime) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["unsettle_future"], {"now": render_time(now)})
            connection.execute(self._sql["drop_report_results"])
            connection.execute(self._sql["drop_report"])

    # For people.

    def counts(self) -> dict[str, int]:
        """Keys by outcome, and how many are unlisted."""
        numbers: dict[str, int] = {outcome.value: 0 for outcome in Outcome} | {"undecided": 0, "unlisted": 0}
        for row in self._all("counts"):
            numbers[row["outcome"]] += row["number"]
            numbers["unlisted"] += row["number"] * row["unlisted"]
        return numbers

    def oldest_unsettled_removal(self) -> datetime | None:
        """Since when a removal waits for the directory; None when none does (S12)."""
        text = self._one("oldest_unsettled")[0]
        return parse_time(text) if text else None

    def _one(self, name: str, **values: object) -> sqlite3.Row:
        return self._all(name, **values)[0]

    def _all(self, name: str, **values: object) -> list[sqlite3.Row]:
        return self._journal.read(self._sql[name], values)

    def _write(self, name: str, **values: object) -> int:
        with self._journal.transaction() as connection:
            return connection.execute(self._sql[name], values).rowcount


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text is not None else None


def _change_row(change: DesiredKey, feed: UUID, now: datetime) -> dict[str, object]:
    return {
        "key_id": str(change.key_id),
        "change_id": str(change.change_id),
        "sequence": change.sequence,
        "feed": str(feed),
        "act": change.act.value,
        "public_key": change.public_key,
        "fingerprint": change.fingerprint,
        "username": change.target.username,
        "uid_number": change.target.uid_number,
        "entry_uuid": str(change.target.entry_uuid),
        "received_at": render_time(now),
    }


def _result(row: sqlite3.Row) -> Result:
    verdict = Verdict(Outcome(row["outcome"]), row["code"])
    return Result(UUID(row["change_id"]), row["sequence"], UUID(row["key_id"]), verdict)


def _kept(row: sqlite3.Row) -> KeptKey:
    desired = DesiredKey(
        key_id=UUID(row["key_id"]),
        change_id=UUID(row["change_id"]),
        sequence=row["sequence"],
        act=Act(row["act"]),
        public_key=row["public_key"],
        fingerprint=row["fingerprint"],
        target=Target(row["username"], row["uid_number"], UUID(row["entry_uuid"])),
    )
    verdict = Verdict(Outcome(row["outcome"]), row["code"]) if row["outcome"] is not None else None
    return KeptKey(desired, verdict, bool(row["settled"]), dated=row["decided_at"] is not None)
