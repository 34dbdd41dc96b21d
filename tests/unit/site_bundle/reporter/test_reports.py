"""From decision to reports, and what the outbox keeps of them (S8, P12, W40)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from site_bundle.kernel.strict_json import decode_object
from site_bundle.reporter.adapters.sqlite_journal import SqliteReportJournal, open_report_journal
from site_bundle.reporter.adapters.wire import ReportBody, encode_accounts, encode_report, halves
from site_bundle.reporter.application.check_usage import CheckUsage
from site_bundle.reporter.application.make_reports import MakeReports, ReportLimits
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.decide import Decision
from site_bundle.reporter.domain.usage import Month
from tests.unit.site_bundle.reporter.scenes import ROW, decided

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
MAKE = MakeReports(
    instance="waldur.example",
    offering_id=UUID(int=5),
    new_id=uuid4,
    encode_report=encode_report,
    encode_accounts=encode_accounts,
    limits=ReportLimits(),
)


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[SqliteReportJournal]:
    made = open_report_journal(tmp_path / "journal.sqlite")
    yield made
    made.close()


def many(number: int, name: str = "p") -> Decision:
    usual = decided()
    one = usual.resources[0]
    resources = [replace(one, resource_id=UUID(int=n + 1), native_name=f"{name}{n}") for n in range(number)]
    return replace(usual, resources=tuple(resources), sets=())


@pytest.mark.parametrize(
    ("number", "name"), [(0, "p"), (1, "p"), (1000, "p"), (1001, "p"), (2500, "p"), (1000, "é" * 63)]
)
def test_p12_split_at_1000_resources_and_1_mib(number: int, name: str) -> None:
    reports = MAKE.run(many(number, name), observed_at=NOW)
    assert all(len(report.body) <= 1 << 20 for report in reports)
    bodies = [decode_object(report.body, ReportBody, max_bytes=1 << 20) for report in reports]
    assert all(len(body.resources) <= 1000 for body in bodies)
    found = [item.resource_id.int for body in bodies for item in body.resources]
    assert found == list(range(1, number + 1)), "each once, in order"
    assert len({report.report_id for report in reports}) == len(reports)
    assert {report.subject for report in reports} == {"resources"}


def test_s8_resources_go_before_accounts() -> None:
    kinds = [report.kind for report in MAKE.run(decided(), observed_at=NOW)]
    assert kinds == ["reports", "accounts"]


def report(subject: str, body: bytes = b"{}") -> Report:
    return Report(uuid4(), "accounts" if subject != "resources" else "reports", subject, NOW, body)


def waiting(outbox: SqliteReportJournal) -> list[Report]:
    found: list[Report] = []
    while (one := outbox.next(found[-1].sequence if found else 0)) is not None:
        found.append(one)
    return found


def test_s8_only_what_was_never_tried_is_superseded(outbox: SqliteReportJournal) -> None:
    first, second, third, other = (report(s) for s in ("resources", "resources", "resources", "accounts/a"))
    outbox.keep([first, other], NOW)
    outbox.mark_tried(waiting(outbox)[:1], NOW)
    outbox.keep([second], NOW)
    outbox.keep([third], NOW)
    found = waiting(outbox)
    assert [(one.report_id, one.tried) for one in found] == [
        (first.report_id, True), (other.report_id, False), (third.report_id, False),
    ]  # fmt: skip
    assert outbox.waiting() == (3, NOW)
    outbox.settle(found[:1])
    assert [one.report_id for one in waiting(outbox)] == [other.report_id, third.report_id]


def test_s8_bytes_survive_a_restart(tmp_path: Path) -> None:
    made = MAKE.run(decided(), observed_at=NOW)
    before = open_report_journal(tmp_path / "journal.sqlite")
    before.keep(made, NOW)
    before.close()
    again = open_report_journal(tmp_path / "journal.sqlite")
    found = waiting(again)
    again.close()
    assert [(one.report_id, one.body, one.observed_at) for one in found] == [
        (one.report_id, one.body, one.observed_at) for one in made
    ]


def test_s8_halves_have_ids_of_their_own_and_the_same_time() -> None:
    (whole,) = MAKE.run(many(5), observed_at=NOW)
    parts = halves(whole, uuid4)
    bodies = [decode_object(part.body, ReportBody, max_bytes=1 << 20) for part in parts]
    assert [len(body.resources) for body in bodies] == [2, 3]
    assert {part.observed_at for part in parts} == {NOW}
    assert len({whole.report_id, *(part.report_id for part in parts)}) == 3
    (one,) = MAKE.run(many(1), observed_at=NOW)
    assert halves(one, uuid4) == () and halves(report("accounts/a"), uuid4) == ()


class Accounting:
    def __init__(self) -> None:
        self.held: dict[str, int | None] = {"proj_a": 0}
        self.months: list[Month] = []

    def node_seconds(self, month: Month) -> dict[str, int | None]:
        self.months.append(month)
        return dict(self.held)


def test_w40_s8_usage_lags_by_one_check_at_most_and_months_do_not_mix() -> None:
    accounting = Accounting()
    usage = CheckUsage(accounting)
    row = replace(ROW, used_node_hours="1.0")
    accounting.held["proj_a"] = 7200
    assert not usage.run((row,), now=NOW).behind, "it has not been told yet"
    assert usage.run((row,), now=NOW + timedelta(hours=1)).behind == (ROW.resource_id,)
    accounting.held["proj_a"] = 0
    fresh = replace(ROW, used_node_hours="0")
    found = usage.run((fresh,), now=datetime(2026, 12, 1, tzinfo=UTC))
    assert (found.behind, found.above) == ((), ())
    assert [month.begin.month for month in accounting.months] == [11, 11, 12]
