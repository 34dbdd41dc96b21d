"""The aggregate store keeps receipt, version and state together (X7, P7)."""

import threading
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest

from central.kernel.aggregates import Aggregates, Command, Decision, Stored, request_digest
from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.errors import CorruptState
from central.kernel.problems import Problem
from central.kernel.queries import parse_queries

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
KIND = "trial.counter"


def command(text: bytes = b"add", id_: UUID | None = None) -> Command:
    return Command(id_ or uuid4(), request_digest(text))


def count(_: Transaction, stored: Stored | None) -> Decision:
    value = int(stored.snapshot.decode()[5:-1]) + 1 if stored else 1
    return Decision(f'{{"n":{value}}}'.encode(), f"n={value}".encode())


@pytest.fixture
def store(kernel_database: Database) -> Aggregates:
    return Aggregates(kernel_database, schema="trial")


def test_x7_first_decision_makes_version_one_and_a_receipt(store: Aggregates) -> None:
    id_, asked = uuid4(), command()
    receipt = store.decide(asked, KIND, id_, count, now=NOW)
    assert (receipt.version, receipt.answer, receipt.recorded_at, receipt.repeated) == (1, b"n=1", NOW, False)
    assert store.load(KIND, id_) == Stored(KIND, id_, 1, b'{"n":1}')
    assert store.receipt(asked.id) is not None
    assert store.receipt(uuid4()) is None


def test_x7_the_same_command_again_returns_the_same_receipt(store: Aggregates) -> None:
    id_, asked = uuid4(), command()
    first = store.decide(asked, KIND, id_, count, now=NOW)
    store.decide(command(), KIND, id_, count, now=NOW)
    again = store.decide(asked, KIND, id_, count, now=datetime.now(UTC))
    assert again.repeated
    assert (again.version, again.answer, again.recorded_at) == (
        first.version,
        first.answer,
        first.recorded_at,
    )
    assert store.load(KIND, id_) == Stored(KIND, id_, 2, b'{"n":2}')


def test_x7_many_are_loaded_at_once_and_one_that_contradicts_itself_refuses_all(
    store: Aggregates, kernel_database: Database, kernel_url: str
) -> None:
    made = [uuid4() for _ in range(3)]
    for id_ in made:
        store.decide(command(), KIND, id_, count, now=NOW)
    store.decide(command(), KIND, made[1], count, now=NOW)
    asked = [*made, uuid4(), made[0]]
    found = kernel_database.run(lambda tx: store.load_all_in(tx, KIND, asked), repeatable=True)
    assert {id_: stored.version for id_, stored in found.items()} == dict(zip(made, (1, 2, 1), strict=True))
    assert kernel_database.run(lambda tx: store.load_all_in(tx, KIND, []), repeatable=True) == {}
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute("DELETE FROM trial.aggregate_versions WHERE version = 2")
    with pytest.raises(CorruptState):
        kernel_database.run(lambda tx: store.load_all_in(tx, KIND, asked), repeatable=True)


@pytest.mark.parametrize("change", ["content", "aggregate", "kind"])
def test_x7_a_command_id_with_other_content_is_refused(store: Aggregates, change: str) -> None:
    id_, asked = uuid4(), command()
    store.decide(asked, KIND, id_, count, now=NOW)
    other = command(b"other", asked.id) if change == "content" else asked
    target = uuid4() if change == "aggregate" else id_
    with pytest.raises(Problem) as refused:
        store.decide(other, "trial.other" if change == "kind" else KIND, target, count, now=NOW)
    assert (refused.value.code, refused.value.status) == ("command_reused", 409)
    assert store.load(KIND, id_) == Stored(KIND, id_, 1, b'{"n":1}')


def test_x7_an_unchanged_snapshot_leaves_the_version_and_keeps_a_receipt(store: Aggregates) -> None:
    id_ = uuid4()
    store.decide(command(), KIND, id_, count, now=NOW)
    same = store.decide(command(), KIND, id_, lambda _tx, s: Decision(s.snapshot if s else None), now=NOW)
    nothing = store.decide(command(), KIND, uuid4(), lambda _tx, _s: Decision(None, b"no"), now=NOW)
    assert (same.version, same.repeated) == (1, False)
    assert (nothing.version, nothing.answer) == (0, b"no")


def test_x7_a_refusal_leaves_nothing_behind(store: Aggregates) -> None:
    id_, asked = uuid4(), command()

    def refuse(_: Transaction, __: Stored | None) -> Decision:
        raise KeyError("refused")

    with pytest.raises(KeyError):
        store.decide(asked, KIND, id_, refuse, now=NOW)
    assert store.receipt(asked.id) is None
    assert store.decide(asked, KIND, id_, count, now=NOW).version == 1


def test_x7_own_statements_commit_and_roll_back_with_the_decision(store: Aggregates, kernel_url: str) -> None:
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute("CREATE TABLE trial.feed (n int PRIMARY KEY)")
        admin.execute("GRANT INSERT ON trial.feed TO pharos_member_api")
    feed = parse_queries("-- name: add\nINSERT INTO trial.feed VALUES (%(n)s)", source="test")

    def with_row(tx: Transaction, stored: Stored | None) -> Decision:
        decision = count(tx, stored)
        tx.execute(feed["add"], {"n": stored.version + 1 if stored else 1})
        if stored:
            raise KeyError("after the row")
        return decision

    id_ = uuid4()
    store.decide(command(), KIND, id_, with_row, now=NOW)
    with pytest.raises(KeyError):
        store.decide(command(), KIND, id_, with_row, now=NOW)
    with psycopg.connect(kernel_url) as admin:
        assert admin.execute("SELECT n FROM trial.feed").fetchall() == [(1,)]


def test_f09_concurrent_deciders_never_lose_a_version(store: Aggregates) -> None:
    id_, answers = uuid4(), list[bytes]()

    def many() -> None:
        for _ in range(10):
            answers.append(store.decide(command(), KIND, id_, count, now=NOW).answer)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == sorted(f"n={n}".encode() for n in range(1, 41))
    assert store.load(KIND, id_) == Stored(KIND, id_, 40, b'{"n":40}')


def test_f09_a_first_version_that_commits_meanwhile_is_no_corruption(store: Aggregates) -> None:
    """Head and versions are read in one statement: two would see two moments."""
    for _ in range(60):
        id_, both = uuid4(), threading.Barrier(2)

        def first(id_: UUID = id_, both: threading.Barrier = both) -> None:
            both.wait(60)
            store.decide(command(), KIND, id_, count, now=NOW)

        thread = threading.Thread(target=first)
        thread.start()
        both.wait(60)
        while store.load(KIND, id_) is None:
            pass
        thread.join(60)


def test_f01_the_same_command_at_once_gives_one_receipt(store: Aggregates) -> None:
    id_, asked, receipts = uuid4(), command(), list[bool]()
    gate = threading.Barrier(4)

    def once() -> None:
        gate.wait(60)
        receipts.append(store.decide(asked, KIND, id_, count, now=NOW).repeated)

    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(receipts) == [False, True, True, True]
    assert store.load(KIND, id_) == Stored(KIND, id_, 1, b'{"n":1}')


def test_x7_a_command_that_loses_every_race_is_told_so(store: Aggregates) -> None:
    tries: list[int] = []

    def beaten(_: Transaction, __: Stored | None) -> Decision:
        tries.append(1)
        raise TransactionConflict("another was quicker")

    with pytest.raises(Problem) as refused:
        store.decide(command(), KIND, uuid4(), beaten, now=NOW)
    assert (refused.value.code, refused.value.status) == ("version_conflict", 409)
    assert len(tries) > 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trial.aggregate_versions SET snapshot = '{\"n\":7}' WHERE version = 2",
        "UPDATE trial.aggregate_versions SET digest = sha256('x') WHERE version = 2",
        "UPDATE trial.aggregate_heads SET version = 1",
        "UPDATE trial.aggregate_heads SET version = 3",
        "DELETE FROM trial.aggregate_heads",
        "DELETE FROM trial.aggregate_versions WHERE version = 2",
        "UPDATE trial.aggregate_versions SET id = gen_random_uuid() WHERE version = 2",
        "UPDATE trial.aggregate_versions v SET snapshot = o.snapshot, digest = o.digest "
        "FROM trial.aggregate_versions o WHERE v.version = 2 AND o.version = 1",
    ],
)
def test_p7_rows_that_contradict_each_other_are_refused_not_repaired(
    store: Aggregates, kernel_url: str, damage: str
) -> None:
    id_ = uuid4()
    store.decide(command(), KIND, id_, count, now=NOW)
    store.decide(command(), KIND, id_, count, now=NOW)
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute(damage.encode())
    with pytest.raises(CorruptState):
        store.load(KIND, id_)
    with pytest.raises(CorruptState):
        store.decide(command(), KIND, id_, count, now=NOW)


@pytest.mark.parametrize("table", ["aggregate_versions", "receipts"])
@pytest.mark.parametrize("verb", ["DELETE FROM", "UPDATE"])
def test_p37_a_process_role_cannot_rewrite_history(kernel_database: Database, table: str, verb: str) -> None:
    tail = " SET version = 9" if verb == "UPDATE" else ""
    query = parse_queries(f"-- name: q\n{verb} trial.{table}{tail}", source="test")["q"]
    with pytest.raises(Exception, match="42501"):
        kernel_database.run(lambda tx: tx.execute(query))
