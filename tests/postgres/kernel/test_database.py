"""Transactions, and when they run again (F01, F03, F04, F08, F12, X7)."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from central.kernel.aggregates import Aggregates, Command, Decision, request_digest
from central.kernel.database import Database, DatabaseOptions, Transaction
from central.kernel.driver_errors import (
    ConnectionDied,
    ConstraintViolated,
    DatabaseUnavailable,
    OutcomeUnknown,
    ServerReadOnly,
    StatementRefused,
    TransactionConflict,
)
from central.kernel.errors import CorruptState
from central.kernel.queries import parse_queries
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.proxy import LossyRelay, lossy_relay

QUERIES = parse_queries(
    """
-- name: add
INSERT INTO notes (id, text) VALUES (%(id)s, %(text)s);

-- name: all
SELECT id, text FROM notes ORDER BY id;

-- name: set
UPDATE notes SET text = %(text)s WHERE id = %(id)s;

-- name: raise
SELECT pg_temp.nothing();

-- name: fail
DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$;

-- name: deadlock
DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$;

-- name: kill_me
SELECT pg_terminate_backend(pg_backend_pid()) AS id, '' AS text;

-- name: sleep
SELECT 1 AS id, pg_sleep(%(seconds)s)::text AS text;

-- name: cast
SELECT %(text)s::text::uuid AS id;

-- name: prepared
SELECT count(*)::int AS id, '' AS text FROM pg_prepared_statements;

-- name: cancel
SET LOCAL statement_timeout = '1ms';
""",
    source="test",
)


@dataclass(frozen=True, slots=True)
class Note:
    id: int
    text: str


@pytest.fixture
def notes_url(kernel_url: str) -> str:
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute(
            "CREATE SCHEMA t; CREATE TABLE t.notes (id int CONSTRAINT notes_pkey PRIMARY KEY, text text)"
        )
        admin.execute("ALTER TABLE t.notes SET SCHEMA public")
    return kernel_url


@pytest.fixture
def notes(notes_url: str) -> Iterator[Database]:
    with Database(DatabaseOptions(notes_url, pool_size=2, pool_timeout_seconds=1)) as database:
        yield database


def add(id_: int, text: str = "a") -> Callable[[Transaction], int]:
    return lambda tx: tx.execute(QUERIES["add"], {"id": id_, "text": text})


def saved(database: Database) -> list[Note]:
    return database.run(lambda tx: tx.all(Note, QUERIES["all"]))


def terminate(url: str, application: str) -> int:
    with psycopg.connect(url, autocommit=True) as admin:
        return admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND datname = current_database()",
            [application],
        ).rowcount


def test_rows_are_dataclasses_and_counts_are_told(notes: Database) -> None:
    assert notes.run(add(1)) == 1
    assert saved(notes) == [Note(1, "a")]
    assert notes.run(lambda tx: tx.execute(QUERIES["set"], {"id": 9, "text": "b"})) == 0
    assert notes.run(lambda tx: tx.one(Note, QUERIES["all"])) == Note(1, "a")


def test_x1_one_row_means_one_row(notes: Database) -> None:
    assert notes.run(lambda tx: tx.maybe(Note, QUERIES["all"])) is None
    with pytest.raises(CorruptState):
        notes.run(lambda tx: tx.one(Note, QUERIES["all"]))
    notes.run(add(1))
    notes.run(add(2))
    with pytest.raises(CorruptState):
        notes.run(lambda tx: tx.maybe(Note, QUERIES["all"]))


def test_an_exception_of_the_work_rolls_everything_back(notes: Database) -> None:
    def fails(tx: Transaction) -> None:
        add(1)(tx)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        notes.run(fails)
    assert saved(notes) == []


def test_f01_conflicts_run_the_whole_transaction_again(notes: Database) -> None:
    tries: list[str] = []

    def work(tx: Transaction) -> int:
        tries.append("try")
        add(1)(tx)
        if len(tries) == 1:
            tx.execute(QUERIES["fail"])
        if len(tries) == 2:
            tx.execute(QUERIES["deadlock"])
        return len(tries)

    assert notes.run(work) == 3
    assert saved(notes) == [Note(1, "a")]


def test_f01_the_retries_end(notes_url: str) -> None:
    pauses: list[float] = []
    with Database(DatabaseOptions(notes_url, attempts=4), sleep=pauses.append) as database:
        with pytest.raises(TransactionConflict) as refused:
            database.run(lambda tx: tx.execute(QUERIES["fail"]))
        assert refused.value.code == "database_busy"
    assert len(pauses) == 3
    assert all(0 <= pause <= 0.1 for pause in pauses)


def test_f01_a_real_deadlock_is_resolved(notes: Database) -> None:
    notes.run(add(1))
    notes.run(add(2))
    both = threading.Barrier(2)
    tries: list[int] = []

    def cross(first: int, second: int) -> None:
        def work(tx: Transaction) -> None:
            tries.append(first)
            tx.execute(QUERIES["set"], {"id": first, "text": f"by {first}"})
            if len(tries) <= 2:
                both.wait(60)
            tx.execute(QUERIES["set"], {"id": second, "text": f"by {first}"})

        notes.run(work)

    threads = [threading.Thread(target=cross, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(tries) == 3
    assert len({note.text for note in saved(notes)}) == 1


def test_f03_a_read_only_connection_is_given_up(
    pg_server: PgServer, notes_url: str, kernel_name: str
) -> None:
    """A connection that still talks to the old primary after a failover is replaced, not used for days."""
    with psycopg.connect(notes_url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {kernel_name} SET default_transaction_read_only = on".encode())
        with Database(DatabaseOptions(notes_url, pool_size=1)) as database:
            saved(database)
            with pytest.raises(ServerReadOnly):
                database.check_ready()
            with pytest.raises(ServerReadOnly) as refused:
                database.run(add(1))
            assert refused.value.code == "database_unavailable"
            saved(database)
            admin.execute("SET default_transaction_read_only = off")
            admin.execute(f"ALTER DATABASE {kernel_name} RESET default_transaction_read_only".encode())
            assert database.run(add(1)) == 1
            database.check_ready()


def test_f04_idle_connections_that_were_killed_are_replaced_unnoticed(
    notes: Database, notes_url: str
) -> None:
    for round_ in range(3):
        saved(notes)
        assert terminate(notes_url, "pharos") >= 1
        assert notes.run(add(round_)) == 1
        assert len(saved(notes)) == round_ + 1


def test_f04_every_idle_connection_dead_costs_one_retry(notes: Database, notes_url: str) -> None:
    gate = threading.Barrier(2)

    def hold(tx: Transaction) -> None:
        tx.all(Note, QUERIES["all"])
        gate.wait(60)

    threads = [threading.Thread(target=notes.run, args=(hold,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert terminate(notes_url, "pharos") == 2
    assert notes.run(add(1)) == 1


def test_f04_a_connection_killed_inside_the_work_is_retried(notes: Database) -> None:
    tries: list[int] = []

    def work(tx: Transaction) -> int:
        tries.append(1)
        add(1)(tx)
        if len(tries) <= 2:
            tx.all(Note, QUERIES["kill_me"])
        return len(tries)

    assert notes.run(work) == 3
    assert saved(notes) == [Note(1, "a")]


def test_f04_a_third_death_is_unavailable_and_the_pool_recovers(notes: Database) -> None:
    tries: list[int] = []

    def work(tx: Transaction) -> None:
        tries.append(1)
        tx.all(Note, QUERIES["kill_me"])

    with pytest.raises(ConnectionDied) as died:
        notes.run(work)
    assert died.value.code == "database_unavailable"
    assert len(tries) == 3
    assert notes.run(add(1)) == 1


def test_f04_a_rollback_on_a_dead_connection_hides_nothing(notes: Database, notes_url: str) -> None:
    def fails(tx: Transaction) -> None:
        add(1)(tx)
        assert terminate(notes_url, "pharos") >= 1
        raise KeyError("mine")

    with pytest.raises(KeyError):
        notes.run(fails)
    assert notes.run(add(2)) == 1
    assert saved(notes) == [Note(2, "a")]


def test_f08_a_pool_without_a_free_connection_is_busy_not_stuck(notes: Database) -> None:
    """The refusal comes while both connections are still held."""
    parked, leave = threading.Barrier(3), threading.Event()

    def hold(_: Transaction) -> None:
        parked.wait(60)
        leave.wait(60)

    threads = [threading.Thread(target=notes.run, args=(hold,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    parked.wait(60)
    with pytest.raises(DatabaseUnavailable) as busy:
        saved(notes)
    assert busy.value.code == "database_busy"
    assert all(thread.is_alive() for thread in threads)
    leave.set()
    for thread in threads:
        thread.join(60)
    assert saved(notes) == []


def test_f03_a_server_that_does_not_answer_is_unavailable() -> None:
    url = "postgresql://u:hunter2@/x?host=/nonexistent"
    with Database(DatabaseOptions(url, pool_timeout_seconds=0.5)) as database:
        with pytest.raises(DatabaseUnavailable) as down:
            database.check_ready()
        assert down.value.code == "database_unavailable"
        assert "hunter2" not in str(down.value) + repr(database.options)
    with pytest.raises(DatabaseUnavailable) as closed:
        database.run(add(1))
    assert closed.value.code == "shutting_down"


def test_a_constraint_names_itself_and_no_value(notes: Database) -> None:
    notes.run(add(1))
    with pytest.raises(ConstraintViolated) as violated:
        notes.run(add(1, "hunter2"))
    assert violated.value.constraint == "notes_pkey"
    assert "hunter2" not in str(violated.value)


def test_x5_a_refused_statement_repeats_no_value(notes: Database) -> None:
    with pytest.raises(StatementRefused) as refused:
        notes.run(lambda tx: tx.execute(QUERIES["cast"], {"text": "hunter2"}))
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_statement_out_of_time_is_busy(notes: Database) -> None:
    def work(tx: Transaction) -> None:
        tx.execute(QUERIES["cancel"])
        tx.all(Note, QUERIES["sleep"], {"seconds": 5})

    with pytest.raises(DatabaseUnavailable) as late:
        notes.run(work)
    assert late.value.code == "database_busy"


@pytest.fixture
def relay(pg_server: PgServer) -> Iterator[LossyRelay]:
    with lossy_relay(pg_server.urls.socket_folder) as running:
        yield running


def through(relay: LossyRelay, pg_server: PgServer, name: str, role: str | None = None) -> DatabaseOptions:
    url = pg_server.role_url(role, name) if role else pg_server.admin_url(name)
    host = str(pg_server.urls.socket_folder).replace("/", "%2F")
    return DatabaseOptions(url.replace(host, str(relay.folder).replace("/", "%2F")), pool_size=1)


def test_x7_a_lost_commit_is_an_unknown_outcome(
    pg_server: PgServer, notes: Database, kernel_name: str, relay: LossyRelay
) -> None:
    with Database(through(relay, pg_server, kernel_name)) as database:
        saved(database)
        relay.lose = 1
        with pytest.raises(OutcomeUnknown) as unknown:
            database.run(add(1))
        assert unknown.value.code == "outcome_unknown"
        assert relay.lost == 1
    assert saved(notes) == [Note(1, "a")], (
        "the commit had happened: exactly why it must not be run again blindly"
    )


def test_x7_a_command_whose_commit_was_lost_gives_one_receipt(
    pg_server: PgServer, kernel_template: str, kernel_name: str, relay: LossyRelay
) -> None:
    asked, id_, decided = Command(uuid4(), request_digest(b"x")), uuid4(), list[int]()

    def decide(_: Transaction, stored: object) -> Decision:
        decided.append(1)
        assert stored is None
        return Decision(b'{"n":1}', b"done")

    with Database(through(relay, pg_server, kernel_name, "pharos_member_api")) as database:
        store = Aggregates(database, schema="trial")
        assert store.load("k", id_) is None
        relay.lose = 1
        receipt = store.decide(asked, "k", id_, decide, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert relay.lost == 1
    assert (receipt.version, receipt.answer, receipt.repeated) == (1, b"done", True)
    assert len(decided) == 1


@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_f12_an_infinite_time_is_refused_by_the_column_too(kernel_url: str, value: str) -> None:
    with psycopg.connect(kernel_url) as admin, pytest.raises(psycopg.errors.CheckViolation):
        admin.execute(
            "INSERT INTO trial.receipts"
            " VALUES (gen_random_uuid(), sha256(''), 'k', gen_random_uuid(), 0, '', %s)",
            [value],
        )


@pytest.mark.parametrize(("threshold", "prepared"), [(None, False), (1, True)])
def test_f05_statements_are_prepared_only_where_that_is_allowed(
    notes_url: str, threshold: int | None, prepared: bool
) -> None:
    with Database(DatabaseOptions(notes_url, prepare_threshold=threshold, pool_size=1)) as database:
        for number in range(6):
            database.run(add(number))
        here = database.run(lambda tx: tx.one(Note, QUERIES["prepared"]))
        assert (here.id > 0) is prepared
