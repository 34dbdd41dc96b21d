"""In what order reports are sent, and what becomes of them (S8, X7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.reporter.adapters.sqlite_journal import SqliteReportJournal, open_report_journal
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.application.send_reports import Answered, SendReports

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[SqliteReportJournal]:
    made = open_report_journal(tmp_path / "journal.sqlite")
    yield made
    made.close()


def report(subject: str) -> Report:
    kind = "reports" if subject == "resources" else "accounts"
    return Report(uuid4(), kind, (subject,), NOW, subject.encode())


@dataclass
class Central:
    """Answers, or says "later" for `down`; what it got."""

    down: str = ""
    got: list[tuple[str, bytes]] = field(default_factory=list)

    def send(self, sent: Report) -> Answered:
        self.got.append((sent.subjects[0], sent.body))
        if sent.subjects[0] == self.down:
            raise UnavailableError("intake_unavailable", found="status 503")
        return Answered(NOW, Counter({"recorded": 1}))

    def deliver(self, outbox: SqliteReportJournal) -> SendReports:
        return SendReports(self, outbox, lambda _: ())


def waiting(outbox: SqliteReportJournal) -> dict[str, bool]:
    found: dict[str, bool] = {}
    after = 0
    while (one := outbox.next(after)) is not None:
        found[one.subjects[0]], after = one.tried, one.sequence
    return found


def test_s8_reports_go_oldest_first_one_after_the_other(outbox: SqliteReportJournal) -> None:
    names = ["resources", "a/1", "a/2", "a/3", "a/4"]
    outbox.keep([report(name) for name in names], NOW)
    central = Central()
    sent = central.deliver(outbox).run(now=NOW)
    assert [name for name, _ in central.got] == names
    assert sent.reports == 5 and not waiting(outbox)


def test_s8_x7_later_ends_the_turn_and_what_was_tried_is_sent_again(outbox: SqliteReportJournal) -> None:
    outbox.keep([report(name) for name in ("a/1", "a/2", "a/3")], NOW)
    central = Central(down="a/2")
    sent = central.deliver(outbox).run(now=NOW)
    assert sent.reports == 1 and isinstance(sent.error, UnavailableError)
    assert waiting(outbox) == {"a/2": True, "a/3": False}
    central.down = ""
    assert central.deliver(outbox).run(now=NOW).reports == 2 and not waiting(outbox)
    assert central.got[1] == central.got[2]


def test_s8_a_report_is_marked_before_it_is_sent(outbox: SqliteReportJournal) -> None:
    outbox.keep([report("a/1"), report("a/2")], NOW)
    marks: list[dict[str, bool]] = []
    central = Central()

    def send(sent: Report) -> Answered:
        marks.append(waiting(outbox))
        return Answered(NOW, Counter())

    central.send = send  # type: ignore[method-assign]
    central.deliver(outbox).run(now=NOW)
    assert marks == [{"a/1": True, "a/2": False}, {"a/2": True}]
