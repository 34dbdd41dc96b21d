"""Applying changes over the real journal, with a directory made of plain objects (S7, X1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal, open_key_journal, statements
from site_bundle.ssh_access.application.poll_changes import PollChanges
from site_bundle.ssh_access.domain.desired import Act
from site_bundle.ssh_access.domain.feed import Page
from site_bundle.ssh_access.domain.public_key import PublicKey, parse_public_key
from site_bundle.ssh_access.domain.stored_value import blobs_in
from tests.site.keys import K1, K2
from tests.unit.site_bundle.doubles import (
    ALICE,
    BOB,
    LATER,
    NOW,
    ONE,
    POLICY,
    Directory,
    Events,
    Feed,
    applier,
    change,
    outcomes,
    page,
    record,
)


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
