"""What is on its way at once, and what becomes of it (S8, X7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from site_bundle.kernel.abreast import Abreast, in_turn
from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.reporter.adapters.sqlite_journal import SqliteReportJournal, open_report_journal
from site_bundle.reporter.application.ports import Asking, Report
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
    """Answers, or says "later" for `down`; `turns` groups what one call of `asking` was given."""

    asked_by: Asking = in_turn
    down: str = ""
    turns: list[list[str]] = field(default_factory=list)
    got: list[tuple[str, bytes]] = field(default_factory=list)

    def send(self, sent: Report) -> Answered:
        self.got.append((sent.subjects[0], sent.body))
        if sent.subjects[0] == self.down:
            raise UnavailableError("intake_unavailable", found="status 503")
        return Answered(NOW, Counter({"recorded": 1}))

    def asking(
        self, act: Callable[[Report], Answered], items: list[Report]
    ) -> Iterator[tuple[Report, Answered | SiteError]]:
        self.turns.append([item.subjects[0] for item in items])
        return self.asked_by(act, items)

    def deliver(self, outbox: SqliteReportJournal) -> SendReports:
        return SendReports(self, outbox, lambda _: (), asking=self.asking, together=3)  # type: ignore[arg-type]


def waiting(outbox: SqliteReportJournal) -> dict[str, bool]:
    found: dict[str, bool] = {}
    after = 0
    while (one := outbox.next(after)) is not None:
        found[one.subjects[0]], after = one.tried, one.sequence
    return found


def test_s8_resources_go_alone_and_accounts_together(outbox: SqliteReportJournal) -> None:
    outbox.keep([report(name) for name in ("resources", "a/1", "a/2", "a/3", "a/4")], NOW)
    central = Central(Abreast(2))
    sent = central.deliver(outbox).run(now=NOW)
    assert central.turns == [["resources"], ["a/1", "a/2", "a/3"], ["a/4"]]
    assert sent.reports == 5 and not waiting(outbox) and sorted(central.got)[0] == ("a/1", b"a/1")


def test_s8_two_reports_of_one_subject_are_never_on_their_way_at_once(outbox: SqliteReportJournal) -> None:
    first = report("a/1")
    outbox.keep([first], NOW)
    tried = outbox.next(0)
    assert tried is not None
    outbox.mark_tried([tried], NOW)
    outbox.keep([report("a/1"), report("a/2")], NOW)
    central = Central()
    central.deliver(outbox).run(now=NOW)
    assert central.turns == [["a/1"], ["a/1", "a/2"]] and not waiting(outbox)


def test_s8_x7_later_ends_the_turn_and_what_was_under_way_is_sent_again(outbox: SqliteReportJournal) -> None:
    outbox.keep([report(name) for name in ("a/1", "a/2", "a/3", "a/4")], NOW)
    central = Central(down="a/2")
    sent = central.deliver(outbox).run(now=NOW)
    assert sent.reports == 1 and isinstance(sent.error, UnavailableError)
    assert waiting(outbox) == {"a/2": True, "a/3": True, "a/4": False}
    central.down = ""
    assert central.deliver(outbox).run(now=NOW).reports == 3 and not waiting(outbox)


def test_s8_a_report_is_marked_before_any_of_its_turn_is_sent(outbox: SqliteReportJournal) -> None:
    outbox.keep([report("a/1"), report("a/2")], NOW)
    marks: list[dict[str, bool]] = []
    central = Central()

    def send(sent: Report) -> Answered:
        marks.append(waiting(outbox))
        return Answered(NOW, Counter())

    central.send = send  # type: ignore[method-assign]
    central.deliver(outbox).run(now=NOW)
    assert marks == [{"a/1": True, "a/2": True}] * 2
