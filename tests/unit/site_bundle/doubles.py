"""A directory, a feed and a central made of plain objects, for use cases over the real journal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from site_bundle.directory.errors import DirectoryRefusedError, DirectoryUnavailableError
from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal
from site_bundle.ssh_access.adapters.wire import encode_results
from site_bundle.ssh_access.application.apply_changes import ApplyChanges
from site_bundle.ssh_access.application.report_results import Receipt, Report, ReportResults
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Verdict
from site_bundle.ssh_access.domain.feed import Page, PositionUnknownError
from site_bundle.ssh_access.domain.plan import Operation, Policy
from site_bundle.ssh_access.domain.public_key import parse_public_key
from site_bundle.ssh_access.domain.target import Entry, Target

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
ONE, TWO = UUID(int=1), UUID(int=2)
ALICE = Target("alice", 5000001, UUID(int=11))
BOB = Target("bob", 5000002, UUID(int=12))
POLICY = Policy(NumberRange(5000000, 5499999))


class Directory:
    """People as a dict; `down` and `refusing` make it fail as the adapter would, `hidden` shows no
    uidNumber, `full` takes no more values.
    """

    def __init__(self) -> None:
        self.values: dict[Target, list[bytes]] = {ALICE: [], BOB: []}
        self.down = False
        self.refusing = False
        self.hidden = False
        self.full = False
        self.finds = 0

    def find(self, targets: Sequence[Target]) -> tuple[Entry, ...]:
        self.finds += 1
        self._check()
        return tuple(
            Entry(t.username, (t.username,), self._uid(t), t.entry_uuid, tuple(self.values[t]))
            for t in targets
            if t in self.values
        )

    def _uid(self, target: Target) -> tuple[int, ...]:
        return () if self.hidden else (target.uid_number,)

    def add(self, dn: str, value: bytes) -> bool:
        return self._change(dn, value, there=True)

    def delete(self, dn: str, value: bytes) -> bool:
        return self._change(dn, value, there=False)

    def _change(self, dn: str, value: bytes, *, there: bool) -> bool:
        self._check()
        if self.refusing or (self.full and there):
            raise DirectoryRefusedError("directory_refused", result=50, found="result 50")
        values = next(values for target, values in self.values.items() if target.username == dn)
        if (value in values) is there:
            return False
        (values.append if there else values.remove)(value)
        return True

    def _check(self) -> None:
        if self.down:
            raise DirectoryUnavailableError("directory_unreachable", found="down")


class Events:
    def __init__(self) -> None:
        self.told: list[str] = []

    def operation(self, operation: Operation, result: str, *, drift: bool) -> None:
        self.told.append(f"{operation.change} {result}{' drift' if drift else ''}")

    def verdict(self, key: DesiredKey, verdict: Verdict) -> None:
        self.told.append(verdict.outcome.value)

    def progress(self) -> None:
        """Nothing to feed."""


class Feed:
    def __init__(self) -> None:
        self.pages: list[Page | PositionUnknownError] = []
        self.asked: list[int] = []

    def read(self, *, after: int, wait: int, limit: int) -> Page:
        self.asked.append(after)
        page = self.pages.pop(0)
        if isinstance(page, PositionUnknownError):
            raise page
        return page


class Central:
    def __init__(self) -> None:
        self.sent: list[Report] = []
        self.outcome = "recorded"
        self.fails = 0

    def send(self, report: Report) -> tuple[Receipt, ...]:
        self.sent.append(report)
        if self.fails:
            self.fails -= 1
            raise UnavailableError("site_api_unreachable", found="down")
        return tuple(Receipt(change, self.outcome) for change in report.changes)


def change(
    sequence: int, line: str, target: Target = ALICE, act: Act = Act.PRESENT, key_id: UUID | None = None
) -> DesiredKey:
    mark = parse_public_key(line).fingerprint
    return DesiredKey(key_id or uuid4(), uuid4(), sequence, act, line, mark, target)


def page(
    *changes: DesiredKey, after: int = 0, feed: UUID = ONE, reach: int | None = None, more: bool = False
) -> Page:
    last = changes[-1].sequence if changes else after
    return Page("slurm", feed, after, changes, reach if reach is not None else last, more)


def record(journal: SqliteKeyJournal, *changes: DesiredKey) -> None:
    cursor = journal.feed_state().cursor
    journal.record_page(page(*changes, after=cursor), NOW)


def applier(journal: SqliteKeyJournal, people: Directory, events: Events) -> ApplyChanges:
    return ApplyChanges(people, journal, events, batch_targets=1)


def reporter(journal: SqliteKeyJournal, central: Central) -> ReportResults:
    return ReportResults(central, journal, encode_results, uuid4, batch_results=500)


def outcomes(journal: SqliteKeyJournal) -> dict[str, int]:
    return {name: number for name, number in journal.counts().items() if number}
