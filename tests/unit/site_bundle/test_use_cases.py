"""Use cases over the real journal, with a directory and a Site API made of plain objects (S7, X1, X7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from site_bundle.directory.errors import DirectoryRefusedError, DirectoryUnavailableError
from site_bundle.kernel.errors import RefusedError, UnavailableError
from site_bundle.ssh_access.adapters.acceptance_file import put_request, take_request
from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal, open_key_journal, statements
from site_bundle.ssh_access.adapters.wire import encode_results
from site_bundle.ssh_access.application.accept_feed import AcceptFeed
from site_bundle.ssh_access.application.apply_changes import ApplyChanges
from site_bundle.ssh_access.application.poll_changes import PollChanges
from site_bundle.ssh_access.application.report_results import Receipt, Report, ReportResults
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Verdict
from site_bundle.ssh_access.domain.feed import Page, PositionUnknownError
from site_bundle.ssh_access.domain.plan import Operation, Policy
from site_bundle.ssh_access.domain.public_key import PublicKey, parse_public_key
from site_bundle.ssh_access.domain.stored_value import blobs_in
from site_bundle.ssh_access.domain.target import Entry, Target, UidRange
from tests.site.keys import K1, K2

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
ONE, TWO = UUID(int=1), UUID(int=2)
ALICE = Target("alice", 5000001, UUID(int=11))
BOB = Target("bob", 5000002, UUID(int=12))
POLICY = Policy(UidRange(5000000, 5499999))


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


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteKeyJournal]:
    made = open_key_journal(tmp_path / "journal.sqlite")
    yield made
    made.close()


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


def test_changes_are_durable_before_the_directory_is_touched(
    journal: SqliteKeyJournal, tmp_path: Path
) -> None:
    feed, people = Feed(), Directory()
    feed.pages = [page(change(1, K1), reach=3, more=True), page(change(4, K2), after=3)]
    poll = PollChanges(feed, journal, page_limit=500)
    assert poll.run(wait=0, now=NOW).more
    assert not poll.run(wait=0, now=NOW).more
    assert feed.asked == [0, 3]
    assert people.finds == 0
    journal.close()
    again = open_key_journal(tmp_path / "journal.sqlite")
    assert (again.feed_state().cursor, again.feed_state().complete) == (4, True)
    assert outcomes(again) == {"undecided": 2}
    again.close()
    journal._journal = open_key_journal(tmp_path / "journal.sqlite")._journal


def test_later_change_of_a_key_wins_and_an_older_one_does_not(journal: SqliteKeyJournal) -> None:
    first = change(5, K1)
    record(journal, first)
    record(journal, change(9, K1, act=Act.ABSENT, key_id=first.key_id))
    journal.record_page(page(change(7, K1, key_id=first.key_id), after=9), NOW)
    (kept,) = journal.keys_of_targets([str(ALICE.entry_uuid)])
    assert (kept.desired.sequence, kept.desired.act) == (9, Act.ABSENT)


def test_page_that_breaks_leaves_nothing(journal: SqliteKeyJournal) -> None:
    feed = Feed()
    feed.pages = [Page("other", ONE, 0, (change(1, K1),), 1, False)]
    record(journal, change(1, K2))
    with pytest.raises(ValueError, match="other"):
        PollChanges(feed, journal, page_limit=500).run(wait=0, now=NOW)
    assert journal.feed_state().cursor == 1
    assert outcomes(journal) == {"undecided": 1}


def test_unreachable_directory_defers_only_what_is_undecided(journal: SqliteKeyJournal) -> None:
    people, events = Directory(), Events()
    apply = applier(journal, people, events)
    record(journal, change(1, K1))
    apply.run(policy=POLICY, now=NOW)
    record(journal, change(2, K2, BOB))
    people.down = True
    with pytest.raises(UnavailableError) as caught:
        apply.run(policy=POLICY, now=NOW, reconcile=True)
    apply.defer(caught.value.code, now=NOW)
    assert outcomes(journal) == {"applied": 1, "pending": 1}
    people.down = False
    apply.run(policy=POLICY, now=LATER)
    assert outcomes(journal) == {"applied": 2}


def test_refusal_of_one_key_is_not_the_others(journal: SqliteKeyJournal) -> None:
    people, events = Directory(), Events()
    record(journal, change(1, K1), change(2, K2, BOB, Act.ABSENT))
    people.refusing = True
    applier(journal, people, events).run(policy=POLICY, now=NOW)
    assert outcomes(journal) == {"refused": 1, "removed_from_directory": 1}
    people.refusing = False
    applier(journal, people, events).run(policy=POLICY, now=LATER, reconcile=True)
    assert outcomes(journal) == {"applied": 1, "removed_from_directory": 1}


def test_S10_each_key_and_each_value_is_read_once_a_batch(
    journal: SqliteKeyJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the plan and for the verdict, for one key of an entry and for the next."""
    parsed: list[str] = []
    read: list[bytes] = []

    def parse(text: str) -> PublicKey:
        parsed.append(text)
        return parse_public_key(text)

    def blobs(value: bytes) -> tuple[bytes, ...]:
        read.append(value)
        return blobs_in(value)

    monkeypatch.setattr("site_bundle.ssh_access.domain.desired.parse_public_key", parse)
    monkeypatch.setattr("site_bundle.ssh_access.domain.plan.blobs_in", blobs)
    people = Directory()
    people.values[ALICE] = [K1.encode(), K2.encode()]
    record(journal, change(1, K1), change(2, K2))
    applier(journal, people, Events()).run(policy=POLICY, now=NOW)
    assert sorted(parsed) == sorted([K1, K2])
    # Before and after are two readings of the entry.
    assert sorted(read) == sorted([K1.encode(), K2.encode()] * 2)


@pytest.mark.parametrize("name", ["has_unreported", "unreported", "unlisted_count", "has_unsettled"])
def test_S10_what_each_cycle_asks_is_answered_by_an_index(journal: SqliteKeyJournal, name: str) -> None:
    """No cycle walks over all keys."""
    steps = journal._journal.connection.execute(
        f"EXPLAIN QUERY PLAN {statements()[0][name]}", {"limit": 1}
    ).fetchall()
    told = [step["detail"] for step in steps]
    keys = [text for text in told if "desired_keys" in text]
    assert keys
    assert all("USING" in text and "INDEX desired_keys_" in text for text in keys), told


def test_B17_value_stays_while_its_foreign_line_cannot_be_carried(journal: SqliteKeyJournal) -> None:
    people = Directory()
    mixed = f"{K1}\n{K2} not ours".encode()
    people.values[ALICE] = [mixed]
    people.full = True
    record(journal, change(1, K1, act=Act.ABSENT))
    applier(journal, people, Events()).run(policy=POLICY, now=NOW)
    assert people.values[ALICE] == [mixed]
    assert outcomes(journal) == {"refused": 1}


def test_idle_pass_records_nothing(journal: SqliteKeyJournal) -> None:
    people, events = Directory(), Events()
    record(journal, change(1, K1))
    apply = applier(journal, people, events)
    apply.run(policy=POLICY, now=NOW)
    events.told.clear()
    changes = journal._journal.connection.total_changes
    apply.run(policy=POLICY, now=LATER, reconcile=True)
    assert journal._journal.connection.total_changes == changes
    assert events.told == []


def test_report_speaks_of_one_pass_and_its_beginning(journal: SqliteKeyJournal) -> None:
    """observedAt is before the reads; results of two passes are two reports, the older first
    (docs/wire.md).
    """
    people, central = Directory(), Central()
    apply = applier(journal, people, Events())
    record(journal, change(1, K1), change(2, K1, BOB))
    apply.run(policy=POLICY, now=NOW)
    record(journal, change(3, K2))
    apply.run(policy=POLICY, now=LATER)
    report = reporter(journal, central)
    assert report.run(now=LATER) is not None
    assert report.run(now=LATER) is not None
    assert report.run(now=LATER) is None
    assert b'"observedAt":"2026-11-02T10:00:00Z"' in central.sent[0].body
    assert b'"observedAt":"2026-11-02T10:00:30Z"' in central.sent[1].body
    assert [len(item.changes) for item in central.sent] == [2, 1]


def test_X7_lost_answer_is_retried_byte_for_byte(journal: SqliteKeyJournal) -> None:
    people, central = Directory(), Central()
    record(journal, change(1, K1))
    applier(journal, people, Events()).run(policy=POLICY, now=NOW)
    central.fails = 2
    report = reporter(journal, central)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            report.run(now=NOW)
    record(journal, change(2, K2))
    applier(journal, people, Events()).run(policy=POLICY, now=LATER)
    report.run(now=LATER)
    assert len({item.body for item in central.sent}) == 1
    assert len({item.report_id for item in central.sent}) == 1
    report.run(now=LATER)
    assert central.sent[-1].report_id != central.sent[0].report_id
    assert not journal.has_unreported()


def test_stale_result_is_decided_anew(journal: SqliteKeyJournal) -> None:
    people, central = Directory(), Central()
    record(journal, change(1, K1))
    apply = applier(journal, people, Events())
    apply.run(policy=POLICY, now=NOW)
    central.outcome = "stale"
    report = reporter(journal, central)
    report.run(now=NOW)
    assert journal.has_unsettled()
    apply.run(policy=POLICY, now=LATER)
    central.outcome = "recorded"
    report.run(now=LATER)
    assert b'"observedAt":"2026-11-02T10:00:30Z"' in central.sent[1].body
    assert not journal.has_unreported()


@pytest.mark.parametrize("down", [False, True])
def test_X2_clock_once_ahead_blocks_nothing_once_it_is_right(journal: SqliteKeyJournal, down: bool) -> None:
    """What was decided under the wrong clock is decided again, pending verdicts too (docs/wire.md)."""
    people, central = Directory(), Central()
    apply = applier(journal, people, Events())
    record(journal, change(1, K1), change(2, K2, BOB))
    if down:
        apply.defer("directory_unreachable", now=LATER + timedelta(days=1))
    else:
        apply.run(policy=POLICY, now=LATER + timedelta(days=1))
    report = reporter(journal, central)
    central.fails = 1
    with pytest.raises(UnavailableError):
        report.run(now=LATER)
    before = outcomes(journal)
    report.decide_anew(now=NOW)
    assert outcomes(journal) == before, "what is known is not forgotten"
    assert not journal.has_unreported()
    apply.run(policy=POLICY, now=LATER)
    report.run(now=LATER)
    assert b'"observedAt":"2026-11-02T10:00:30Z"' in central.sent[-1].body
    assert not journal.has_unreported()


def test_X2_every_time_ahead_is_withdrawn(journal: SqliteKeyJournal) -> None:
    """Not those of the refused report alone; the next one would be refused again."""
    people, central = Directory(), Central()
    apply = applier(journal, people, Events())
    record(journal, change(1, K1))
    apply.run(policy=POLICY, now=LATER + timedelta(days=1))
    record(journal, change(2, K2, BOB))
    apply.run(policy=POLICY, now=LATER + timedelta(days=2))
    reporter(journal, central).decide_anew(now=NOW)
    apply.run(policy=POLICY, now=LATER)
    report = reporter(journal, central)
    assert report.run(now=LATER) is not None
    assert report.run(now=LATER) is None
    assert len(central.sent[0].changes) == 2


def test_stale_pending_result_is_decided_anew(journal: SqliteKeyJournal) -> None:
    """The same verdict again bears a new time, or central would call it stale for ever."""
    central = Central()
    record(journal, change(1, K1))
    apply = applier(journal, people := Directory(), Events())
    apply.defer("directory_unreachable", now=NOW)
    central.outcome = "stale"
    report = reporter(journal, central)
    report.run(now=NOW)
    people.hidden = True
    apply.run(policy=POLICY, now=LATER)
    report.run(now=LATER)
    assert b'"observedAt":"2026-11-02T10:00:30Z"' in central.sent[1].body


def test_result_decided_while_its_report_was_on_the_way_is_reported_too(journal: SqliteKeyJournal) -> None:
    people, central = Directory(), Central()
    first = change(1, K1)
    record(journal, first)
    applier(journal, people, Events()).run(policy=POLICY, now=NOW)
    central.fails = 1
    report = reporter(journal, central)
    with pytest.raises(UnavailableError):
        report.run(now=NOW)
    record(journal, change(2, K1, act=Act.ABSENT, key_id=first.key_id))
    applier(journal, people, Events()).run(policy=POLICY, now=LATER)
    report.run(now=LATER)
    report.run(now=LATER)
    assert b"applied" in central.sent[1].body
    assert b"removed_from_directory" in central.sent[2].body


def test_refused_report_is_made_afresh(journal: SqliteKeyJournal) -> None:
    people, central = Directory(), Central()
    record(journal, change(1, K1))
    applier(journal, people, Events()).run(policy=POLICY, now=NOW)
    central.fails = 1
    report = reporter(journal, central)
    with pytest.raises(UnavailableError):
        report.run(now=NOW)
    report.give_up()
    report.run(now=NOW)
    assert central.sent[0].report_id != central.sent[1].report_id
    assert not journal.has_unreported()


def test_feed_is_accepted_only_when_read_to_its_end(journal: SqliteKeyJournal) -> None:
    feed = Feed()
    poll = PollChanges(feed, journal, page_limit=500)
    old = change(1, K1)
    feed.pages = [page(old), page(feed=TWO, after=1), page(change(1, K2), feed=TWO, more=True)]
    assert not poll.run(wait=0, now=NOW).switched
    assert poll.run(wait=0, now=NOW).switched
    assert poll.run(wait=0, now=NOW).more
    assert not journal.feed_state().removals_allowed
    accept = AcceptFeed(journal)
    with pytest.raises(RefusedError) as caught:
        accept.run(TWO)
    assert caught.value.code == "feed_incomplete"
    with pytest.raises(RefusedError) as caught:
        accept.run(ONE)
    assert caught.value.code == "feed_not_current"
    feed.pages = [page(feed=TWO, after=1), page(feed=TWO, after=1)]
    assert poll.run(wait=0, now=NOW).unlisted == 0
    assert accept.run(TWO).unlisted == 1
    assert poll.run(wait=0, now=NOW).unlisted == 1
    (kept,) = [k for k in journal.keys_of_targets([str(ALICE.entry_uuid)]) if k.desired.key_id == old.key_id]
    assert kept.desired.act is Act.ABSENT
    assert journal.feed_state().removals_allowed


def test_X1_restored_central_under_the_same_feed_id_removes_nothing(journal: SqliteKeyJournal) -> None:
    """Its sequences begin anew; presents are taken, removals wait until the same id is accepted anew."""
    feed, people = Feed(), Directory()
    poll, apply = PollChanges(feed, journal, page_limit=500), applier(journal, people, Events())
    first, lost = change(1, K1), change(9, K2)
    feed.pages = [page(first, lost), PositionUnknownError(), page(change(2, K1, BOB), reach=2, more=True)]
    assert not poll.run(wait=0, now=NOW).switched
    apply.run(policy=POLICY, now=NOW)
    polled = poll.run(wait=0, now=NOW)
    assert (polled.switched, polled.rewound) == (True, True)
    assert not journal.feed_state().removals_allowed
    assert not poll.run(wait=0, now=NOW).switched
    with pytest.raises(RefusedError) as caught:
        AcceptFeed(journal).run(ONE)
    assert caught.value.code == "feed_incomplete"
    # A sequence below the one of the lost history replaces it all the same.
    feed.pages = [page(change(3, K1, act=Act.ABSENT, key_id=first.key_id), after=2)]
    assert not poll.run(wait=0, now=NOW).more
    assert feed.asked == [0, 9, 0, 2]
    state = journal.feed_state()
    assert (state.accepted, state.current, state.complete, state.rewound) == (ONE, ONE, True, True)
    held = Policy(POLICY.uids, removals=state.removals_allowed)
    apply.run(policy=held, now=LATER, reconcile=True)
    assert people.values == {ALICE: [K1.encode(), K2.encode()], BOB: [K1.encode()]}
    assert outcomes(journal) == {"applied": 2, "held": 1}
    assert AcceptFeed(journal).run(ONE).unlisted == 1
    feed.pages = [page(after=3)]
    assert poll.run(wait=0, now=LATER).unlisted == 1
    assert journal.feed_state().removals_allowed
    apply.run(policy=POLICY, now=LATER)
    assert people.values == {ALICE: [], BOB: [K1.encode()]}


def test_another_id_after_a_rewind_waits_too_and_the_old_one_does_not_return(
    journal: SqliteKeyJournal,
) -> None:
    feed = Feed()
    poll = PollChanges(feed, journal, page_limit=500)
    feed.pages = [page(change(5, K1)), PositionUnknownError(), page(change(1, K2), feed=TWO), page(after=1)]
    for _ in range(4):
        poll.run(wait=0, now=NOW)
    assert journal.feed_state().current == ONE
    assert not journal.feed_state().removals_allowed
    assert journal.mark_unlisted(NOW) == 0


def test_unlisted_key_is_removed_and_not_reported(journal: SqliteKeyJournal) -> None:
    people, central = Directory(), Central()
    record(journal, change(1, K1))
    apply = applier(journal, people, Events())
    apply.run(policy=POLICY, now=NOW)
    reporter(journal, central).run(now=NOW)
    journal.restart_feed(TWO)
    journal.record_page(page(feed=TWO), NOW)
    assert journal.accept_feed(TWO)
    assert journal.mark_unlisted(NOW) == 1
    assert journal.oldest_unsettled_removal() == NOW
    apply.run(policy=POLICY, now=LATER)
    assert people.values[ALICE] == []
    assert journal.counts()["unlisted"] == 1
    assert not journal.has_unreported()


def test_acceptance_file_is_taken_once(tmp_path: Path) -> None:
    assert take_request(tmp_path) is None
    put_request(tmp_path, ONE)
    assert take_request(tmp_path) == ONE
    assert take_request(tmp_path) is None
    for content in (b"", b"nonsense", b"\xff" * 10, b"x" * 1000):
        (tmp_path / "accept-feed").write_bytes(content)
        assert take_request(tmp_path) is None
    (tmp_path / "accept-feed").symlink_to("/etc/passwd")
    assert take_request(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
