"""The feed over the real journal: another history removes nothing until it is accepted (X1)."""

from __future__ import annotations

import pytest

from site_bundle.kernel.errors import RefusedError
from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal
from site_bundle.ssh_access.application.accept_feed import AcceptFeed
from site_bundle.ssh_access.application.poll_changes import PollChanges
from site_bundle.ssh_access.domain.desired import Act
from site_bundle.ssh_access.domain.feed import PositionUnknownError
from site_bundle.ssh_access.domain.plan import Policy
from tests.site.keys import K1, K2
from tests.unit.site_bundle.doubles import (
    ALICE,
    BOB,
    LATER,
    NOW,
    ONE,
    POLICY,
    TWO,
    Central,
    Directory,
    Events,
    Feed,
    applier,
    change,
    outcomes,
    page,
    record,
    reporter,
)


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
