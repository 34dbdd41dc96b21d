"""From decision to reports, and what the outbox keeps of them (S8, P12, W40)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from site_bundle.kernel.strict_json import decode_object
from site_bundle.reporter.adapters.sqlite_journal import SqliteReportJournal, open_report_journal
from site_bundle.reporter.adapters.wire_reports import (
    AccountsBody,
    AccountSetsBody,
    ReportBody,
    SetEncoding,
    encode_report,
    halves,
)
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
    encode_sets=SetEncoding(),
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
    assert {report.subjects for report in reports} == {("resources",)}


def test_s8_resources_go_before_accounts() -> None:
    kinds = [report.kind for report in MAKE.run(decided(), observed_at=NOW)]
    assert kinds == ["reports", "account-sets"]


def report(*subjects: str, body: bytes = b"{}", later: int = 0) -> Report:
    kind = "account-sets" if len(subjects) > 1 else "accounts" if subjects != ("resources",) else "reports"
    return Report(uuid4(), kind, subjects, NOW + timedelta(seconds=later), body)


def waiting(outbox: SqliteReportJournal) -> list[Report]:
    found: list[Report] = []
    while (one := outbox.next(found[-1].sequence if found else 0)) is not None:
        found.append(one)
    return found


def test_s8_only_what_was_never_tried_is_superseded(outbox: SqliteReportJournal) -> None:
    first, second, third = (report("resources", later=number) for number in range(3))
    other = report("accounts/a")
    outbox.keep([first, other], NOW)
    outbox.mark_tried(waiting(outbox)[0], NOW)
    outbox.keep([second], NOW)
    outbox.keep([third], NOW)
    found = waiting(outbox)
    assert [(one.report_id, one.tried) for one in found] == [
        (first.report_id, True), (other.report_id, False), (third.report_id, False),
    ]  # fmt: skip
    assert outbox.waiting() == (3, NOW)
    outbox.settle(found[0])
    assert [one.report_id for one in waiting(outbox)] == [other.report_id, third.report_id]


def test_s8_what_only_an_older_report_speaks_of_is_kept(outbox: SqliteReportJournal) -> None:
    """An allocation a later pass could not read keeps its word until central has it or a newer one stands."""
    both, one, other, new = (
        report("a", "b"), report("b", later=1), report("a", later=2), report("b", "c", later=3)
    )  # fmt: skip
    left = {0: [both], 1: [both, one], 2: [one, other], 3: [other, new]}
    for number, made in enumerate((both, one, other, new)):
        outbox.keep([made], NOW)
        assert [each.report_id for each in waiting(outbox)] == [each.report_id for each in left[number]]


def test_s8_no_more_reports_wait_than_there_are_subjects(outbox: SqliteReportJournal) -> None:
    chance, names = random.Random(7), [f"accounts/{number}" for number in range(6)]
    for later in range(80):
        chosen = chance.sample(names, chance.randint(1, 6))
        cut = chance.randint(0, len(chosen))
        made = [report(*few, later=later) for few in (chosen[:cut], chosen[cut:]) if few]
        outbox.keep(made, NOW)
        found = waiting(outbox)
        assert len(found) <= len(names)
        assert {each.report_id for each in made} <= {each.report_id for each in found}
    latest: dict[str, Report] = {}
    for each in found:
        latest.update(dict.fromkeys(each.subjects, each))
    assert {each.report_id for each in latest.values()} == {each.report_id for each in found}


def sold(number: int, accounts: int) -> Decision:
    """So many allocations of so many accounts each."""
    usual = decided()
    (one,) = usual.sets
    row = one.decided.accounts[0]
    some = tuple(replace(row, native_uid=f"{uuid4()}/{place}") for place in range(accounts))
    made = replace(one, decided=replace(one.decided, accounts=some))
    sets = [replace(made, resource_id=UUID(int=place + 1)) for place in range(number)]
    return replace(usual, resources=(), sets=tuple(sets))


@pytest.mark.parametrize(
    ("number", "accounts", "reports"),
    [(0, 0, 0), (1, 1, 1), (1000, 1, 1), (1001, 1, 2), (20, 50, 1), (2500, 0, 3), (9, 999, 3)],
)
def test_p12_sets_go_together_up_to_1000_and_1_mib(number: int, accounts: int, reports: int) -> None:
    made = [each for each in MAKE.run(sold(number, accounts), observed_at=NOW) if each.kind != "reports"]
    assert len(made) == reports and {each.kind for each in made} <= {"account-sets"}
    bodies = [decode_object(each.body, AccountSetsBody, max_bytes=1 << 20) for each in made]
    ids = [str(each.allocation_id) for body in bodies for each in body.sets]
    assert len(set(ids)) == number and all(len(body.sets) <= 1000 for body in bodies)
    assert [name for each in made for name in each.subjects] == [f"accounts/{one}" for one in ids]


def test_p21_a_set_too_large_for_company_goes_alone() -> None:
    large, small = sold(1, 5000).sets[0], sold(2, 1).sets
    decision = replace(
        decided(), resources=(), sets=(small[1], replace(large, resource_id=UUID(int=7)), small[0])
    )
    _, alone, few = MAKE.run(decision, observed_at=NOW)
    assert (alone.kind, few.kind, len(few.subjects)) == ("accounts", "account-sets", 2)
    assert len(decode_object(alone.body, AccountsBody, max_bytes=8 << 20).accounts) == 5000


def test_s8_halves_of_sets_end_with_one_that_goes_alone() -> None:
    _, whole = MAKE.run(sold(3, 2), observed_at=NOW)
    first, second = halves(whole, uuid4)
    assert (first.subjects, second.subjects) == (whole.subjects[:1], whole.subjects[1:])
    (alone,) = halves(first, uuid4)
    assert (alone.kind, alone.subjects) == ("accounts", first.subjects) and not halves(alone, uuid4)
    assert len({one.report_id for one in (whole, first, second, alone)}) == 4


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
    assert not halves(one, uuid4) and not halves(report("accounts/a"), uuid4)


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
