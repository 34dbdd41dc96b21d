"""Accepted work in PostgreSQL: once a message, whoever else works; rights; damage (P7, P27, P29, P37)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from central.kernel.database import Database
from central.kernel.driver_errors import ConstraintViolated, StatementRefused
from central.kernel.queries import Query
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.ports import PassLost
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.judgement import Effect
from central.retention.domain.recovery import Phase, RecoveryLimits
from tests.unit.central.retention.values import NOW, OWNERS, SITE, work

QUEUE = "resource_provisioning.accepted-run-changed"
LIMITS = RecoveryLimits()


@dataclass(frozen=True, slots=True)
class Held:
    """What is held of one item."""

    revision: int
    state: str


def held(database: Database, item: AcceptedWork) -> Held | None:
    query = Query("held", b"SELECT revision, state FROM retention.accepted_work WHERE item_id = %(item)s")
    return database.run(lambda tx: tx.maybe(Held, query, {"item": item.item_id}))


def apply(store: PostgresWork, *told: tuple[int, AcceptedWork]) -> Sequence[Effect | None]:
    return store.apply(QUEUE, [(UUID(int=number), item) for number, item in told], NOW)


def test_p27_a_message_is_applied_once_per_consumer(owner: Database) -> None:
    store = PostgresWork(owner)
    assert apply(store, (1, work(1)), (1, work(1)), (2, work(2))) == [Effect.SAVED, None, Effect.SAVED]
    assert apply(store, (1, work(1)), (2, work(2))) == [None, None]
    assert store.apply("another", [(UUID(int=1), work(1))], NOW) == [Effect.OLDER]
    assert store.forget_receipts(NOW) == 0
    assert store.forget_receipts(NOW + timedelta(seconds=1)) == 3
    assert apply(store, (1, work(1)), (2, work(2))) == [Effect.OLDER, Effect.SAME]


def test_p27_work_without_evidence_is_not_saved(owner: Database) -> None:
    store = PostgresWork(owner)
    assert apply(store, (1, work(1, evidence=False))) == [Effect.NOT_SAVED]
    assert held(owner, work()) is None


def test_p27_many_at_once_in_any_order_end_with_the_release(owner: Database) -> None:
    store, dice = PostgresWork(owner), random.Random(7)
    for number in range(1, 9):
        story = [work(revision, item=number) for revision in range(1, 6)]
        story.insert(3, work(3, item=number, released=True))
        told = [(UUID(int=number << 8 | place), item) for place, item in enumerate(story)] * 2
        dice.shuffle(told)
        with ThreadPoolExecutor(6) as pool:
            done = [pool.submit(store.apply, QUEUE, [one], NOW) for one in told]
            effects = [effect for one in done for effect in one.result(timeout=30)]
        assert effects.count(None) == len(story)
        assert held(owner, work(item=number)) == Held(5, "released")


def test_p27_batches_over_the_same_items_at_once_do_not_stop_each_other(owner: Database) -> None:
    store = PostgresWork(owner)
    batches = []
    for batch in range(8):
        told = [(UUID(int=batch << 16 | n), work(batch + 1, item=n)) for n in range(1, 40)]
        batches.append(told if batch % 2 else told[::-1])
    with ThreadPoolExecutor(8) as pool:
        for one in [pool.submit(store.apply, QUEUE, batch, NOW) for batch in batches]:
            one.result(timeout=60)
    assert {held(owner, work(item=n)) for n in range(1, 40)} == {Held(8, "required")}


def test_p27_a_conflict_ends_what_stands_in_its_own_transaction(owner: Database) -> None:
    store = PostgresWork(owner)
    begun = store.begin(NOW, LIMITS)
    assert begun is not None
    store.stand(begun, OWNERS, NOW, NOW, LIMITS)
    assert apply(store, (1, work(1)), (2, work(1, generation=5))) == [Effect.SAVED, Effect.CONFLICT]
    standing = store.recovery()
    assert (standing.phase, standing.epoch > begun.epoch) == (Phase.FAILED, True)


def test_o3_a_pass_that_lost_its_epoch_changes_nothing(owner: Database) -> None:
    store = PostgresWork(owner)
    begun = store.begin(NOW, LIMITS)
    assert begun is not None
    assert store.begin(NOW, LIMITS) is None
    later = NOW + timedelta(seconds=LIMITS.pass_seconds)
    taken = store.begin(later, LIMITS)
    assert taken is not None
    with pytest.raises(PassLost):
        store.put(begun, [work(1)], later, LIMITS)
    assert held(owner, work()) is None
    with pytest.raises(PassLost):
        store.stand(begun, OWNERS, NOW, later, LIMITS)
    store.fail(begun, "late")
    assert store.recovery() == taken
    store.stand(taken, OWNERS, later, later, LIMITS)
    assert store.recovery().missing(OWNERS, later, LIMITS) is None


def test_o3_of_many_replicas_one_makes_the_pass(owner: Database) -> None:
    stores = [PostgresWork(owner) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        begun = [one.result(timeout=30) for one in [pool.submit(s.begin, NOW, LIMITS) for s in stores]]
    assert sum(one is not None for one in begun) == 1


def test_p28_the_standing_and_what_is_required_are_of_one_moment(owner: Database) -> None:
    """A pass that ends between the two reads must not make a list of before it look complete."""
    store = PostgresWork(owner)
    for number in range(1, 30):
        store.start()

        def end(number: int = number) -> None:
            begun = store.begin(NOW, LIMITS)
            assert begun is not None
            store.put(begun, [work(1, item=number, generation=number)], NOW, LIMITS)
            store.stand(begun, OWNERS, NOW, NOW, LIMITS)

        with ThreadPoolExecutor(3) as pool:
            passing = pool.submit(end)
            seen = [one.result(timeout=30) for one in [pool.submit(store.required, SITE) for _ in range(6)]]
            passing.result(timeout=30)
        for snapshot in seen:
            if snapshot.recovery.phase is Phase.STANDING:
                assert len(snapshot.required) == number


def test_p27_each_account_is_read_once_however_much_work_names_it(owner: Database) -> None:
    store = PostgresWork(owner)
    apply(store, *[(number, work(1, item=number, generation=1 + number % 2)) for number in range(1, 20)])
    assert len(store.required(SITE).required) == 2


@pytest.mark.parametrize(
    "statement",
    [
        b"DELETE FROM retention.accepted_work",
        b"UPDATE retention.accepted_work SET state = 'required'",
        b"UPDATE retention.accepted_work SET revision = 1",
    ],
    ids=["deleted", "required again", "an earlier revision"],
)
def test_p27_the_table_itself_keeps_releases(owner: Database, admin: Database, statement: bytes) -> None:
    apply(PostgresWork(owner), (1, work(2, released=True)))
    with pytest.raises(ConstraintViolated):
        admin.run(lambda tx: tx.execute(Query("damage", statement)))
    assert held(owner, work()) == Held(2, "released")


@pytest.mark.parametrize(
    "statement",
    [
        b"DELETE FROM retention.accepted_work",
        b"DELETE FROM retention.recovery",
        b"TRUNCATE retention.recovery",
    ],
)
def test_p37_the_process_may_neither_delete_nor_empty(owner: Database, statement: bytes) -> None:
    with pytest.raises(StatementRefused):
        owner.run(lambda tx: tx.execute(Query("damage", statement)))


def test_x2_a_deadline_comes_back_as_it_was(owner: Database) -> None:
    store = PostgresWork(owner)
    item = replace(work(1), deadline=datetime(2027, 1, 1, 0, 0, 0, 123456, tzinfo=UTC))
    apply(store, (1, item))
    begun = store.begin(NOW, LIMITS)
    assert begun is not None
    assert store.put(begun, [item], NOW, LIMITS) == [Effect.SAME]
