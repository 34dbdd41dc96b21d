"""Reports over the real journal: one a time, the same bytes again, dated before their reads (S7, X2, X7)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal
from site_bundle.ssh_access.domain.desired import Act
from tests.site.keys import K1, K2
from tests.unit.site_bundle.doubles import (
    BOB,
    LATER,
    NOW,
    POLICY,
    Central,
    Directory,
    Events,
    applier,
    change,
    outcomes,
    record,
    reporter,
)


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
