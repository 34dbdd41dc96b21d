"""Accepted work told and answered for: what the asker of retained accounts reads is what is (P27, P29)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest

from central.execution.adapters.postgres_passes import KEPT, PostgresPasses
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.application.answer_work import AnswerWork
from central.execution.application.ports import StoreCommand
from central.execution.application.publish_work import PublishWork
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.attempts import retry
from central.execution.domain.progress import acknowledge, cancel, record_result
from central.execution.domain.run import Run, Verdict
from central.execution.entrypoints.work_questions import WorkQuestions
from central.kernel.broker import Message
from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import Unavailable
from central.kernel.paging import PagingLimits
from central.kernel.problems import Problem
from central.kernel.questions import SnapshotGone
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import Owner
from central.retention.entrypoints.events import read_event
from tests.postgres.conftest import PgServer
from tests.unit.central.execution.values import IDENTITY, MEMBER, NOW, OTHER, REQUEST, accepted, ended

EXECUTION = Owner("execution")


@pytest.fixture
def opened(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> Database:
    """As the worker."""
    return open_database(DatabaseOptions(pg_server.role_url("pharos_execution", database_name), pool_size=4))


@pytest.fixture
def runs(opened: Database) -> PostgresRuns:
    return PostgresRuns(opened)


@pytest.fixture
def passes(opened: Database) -> PostgresPasses:
    return PostgresPasses(opened)


def command() -> StoreCommand:
    return StoreCommand(uuid4(), b"x" * 32)


def create(runs: PostgresRuns, count: int) -> list[Run]:
    made = []
    for _ in range(count):
        asked = command()
        run_id = run_id_of(asked.id, REQUEST.project_id)
        step = accept(run_id, REQUEST, UUID(int=40), identity=IDENTITY, member=MEMBER, now=NOW)
        made.append(runs.add(asked, step).run)
    return made


def asker(*replicas: WorkQuestions, page: int = 3) -> OwnerQuestions:
    """Retention's own reader; each question goes to the next replica."""
    asked = iter(range(10_000))

    def ask(_owner: Owner, _question: UUID, body: bytes) -> bytes:
        return replicas[next(asked) % len(replicas)].answer(body)

    return OwnerQuestions(ask, limits=PagingLimits(page=page))


def answering(passes: PostgresPasses, late: timedelta = timedelta(0)) -> WorkQuestions:
    return WorkQuestions(AnswerWork(passes, uuid4), lambda: NOW + late)


def test_p29_whichever_replica_is_asked_the_whole_is_read(runs: PostgresRuns, passes: PostgresPasses) -> None:
    made = create(runs, 8)
    runs.move(command(), made[3].run_id, lambda run: cancel(run, OTHER, None, NOW), NOW)
    read = asker(answering(passes), answering(passes)).read(EXECUTION)
    assert [work.item_id for work in read] == sorted(run.run_id for run in made)
    assert all(work.evidence is not None and work.evidence.binding_id == IDENTITY.binding_id for work in read)
    assert [work.revision for work in read if work.item_id == made[3].run_id] == [2]
    assert asker(answering(passes), page=500).read(EXECUTION) == read


def test_p29_nothing_accepted_is_a_whole_inventory_too(passes: PostgresPasses) -> None:
    assert list(asker(answering(passes)).read(EXECUTION)) == []


def test_p29_an_inventory_stands_while_work_changes_and_goes_after_its_time(
    runs: PostgresRuns, passes: PostgresPasses
) -> None:
    create(runs, 2)
    now, later = answering(passes), answering(passes, KEPT + timedelta(seconds=1))
    first = asker(now).inventory(EXECUTION)
    create(runs, 2)
    page = passes.page(first.snapshot, None, 500)
    assert page is not None
    assert len(page) == first.count == 2
    asker(later).inventory(EXECUTION)
    assert passes.page(first.snapshot, None, 500) is None
    assert json.loads(_gone(now, first.snapshot, uuid4()))["error"] == "snapshot_gone"
    with pytest.raises(SnapshotGone):
        OwnerQuestions(lambda _, query, body: _gone(now, first.snapshot, query)).inventory(EXECUTION)


def _gone(questions: WorkQuestions, snapshot: UUID, query: UUID) -> bytes:
    body = {
        "schema": 1, "queryId": str(query), "query": "page", "scope": "accepted_work",
        "snapshotId": str(snapshot), "after": None, "limit": 5,
    }  # fmt: skip
    return questions.answer(json.dumps(body).encode())


@pytest.mark.parametrize("change", [{"limit": 501}, {"limit": 0}, {"extra": 1}, {"scope": "projects"}])
def test_p29_a_malformed_question_is_refused(passes: PostgresPasses, change: dict[str, object]) -> None:
    body = {
        "schema": 1, "queryId": str(uuid4()), "query": "page", "scope": "accepted_work",
        "snapshotId": str(uuid4()), "after": None, "limit": 5,
    }  # fmt: skip
    with pytest.raises(Problem):
        answering(passes).answer(json.dumps(body | change).encode())


def test_p27_each_run_is_told_at_its_latest_revision_until_the_broker_took_it(
    runs: PostgresRuns, passes: PostgresPasses
) -> None:
    [run] = create(runs, 1)
    said: list[Message] = []

    def lost(_messages: Sequence[Message]) -> None:
        raise Unavailable("unavailable", "the broker is away")

    with pytest.raises(Unavailable):
        PublishWork(passes, runs, lost)(NOW)
    publish = PublishWork(passes, runs, said.extend)
    assert publish(NOW).changed == 1
    assert publish(NOW).changed == 0
    moved = runs.move(command(), run.run_id, partial(cancel, actor=OTHER, reason=None, now=NOW), NOW).run
    assert publish(NOW).changed == 1
    read = [read_event(message.topic, message.body) for message in said]
    assert [event.message_id for event in read] == [message.id for message in said]
    assert [event.item.revision for event in read] == [run.revision, moved.revision]
    assert isinstance(read[0].item, AcceptedWork)
    whole = asker(answering(passes)).read(EXECUTION)
    assert read[1].item == whole[0], "events and inventory say the same"


def test_p27_what_moves_while_it_is_published_is_told_again(
    runs: PostgresRuns, passes: PostgresPasses
) -> None:
    [run] = create(runs, 1)
    said: list[Message] = []

    def slow(messages: Sequence[Message]) -> None:
        if not said:
            runs.move(command(), run.run_id, lambda at: cancel(at, OTHER, None, NOW), NOW)
        said.extend(messages)

    publish = PublishWork(passes, runs, slow)
    publish(NOW)
    assert publish(NOW).changed == 1
    assert [read_event(each.topic, each.body).item.revision for each in said] == [1, 2]


def said(runs: PostgresRuns, run_id: UUID, named: UUID, verdict: Verdict) -> Run:
    """The Site accepts a command and ends it so; nobody publishes between."""
    runs.move(command(), run_id, lambda run: acknowledge(run, named, accepted(), NOW), NOW)
    return runs.move(command(), run_id, lambda run: record_result(run, named, ended(verdict), NOW), NOW).run


def test_p27_each_attempt_is_an_item_and_a_release_is_final(
    pg_server: PgServer,
    database_name: str,
    open_database: Callable[[DatabaseOptions], Database],
    runs: PostgresRuns,
    passes: PostgresPasses,
) -> None:
    [first] = create(runs, 1)
    project = PostgresRuns(
        open_database(DatabaseOptions(pg_server.role_url("pharos_project_api", database_name)))
    )
    sent: list[Message] = []
    publish = PublishWork(passes, runs, sent.extend)
    publish(NOW)
    stage = first.attempt.stages[0].command_id
    assert stage is not None
    over = said(runs, first.run_id, stage, Verdict.FAILED)
    assert over.cleanup is not None
    said(runs, first.run_id, over.cleanup.command_id, Verdict.COMPLETED)
    again = project.move(command(), first.run_id, lambda run: retry(run, OTHER, NOW), NOW).run
    sent.clear()
    publish(NOW)
    told = [read_event(message.topic, message.body).item for message in sent]
    assert [(item.item_id, item.state.value) for item in told] == [
        (first.run_id, "released"),
        (again.attempt.attempt_id, "required"),
    ]
    snapshot = AnswerWork(passes, uuid4).take(NOW)
    assert snapshot.count == 2
    page = passes.page(snapshot.snapshot_id, None, 10)
    assert page is not None
    assert {item_id for item_id, _ in page} == {first.run_id, again.attempt.attempt_id}
