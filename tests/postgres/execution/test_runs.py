"""Runs in PostgreSQL as the processes' own roles: receipts, feeds, gapless sequences (E3, E4, X7, P37)."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import psycopg
import pytest

from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.application.ports import CommandPage, RunUnknown, Saved, StoreCommand
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.command import CleanUp, Submit
from central.execution.domain.progress import (
    StepRefused,
    acknowledge,
    cancel,
    record_result,
)
from central.execution.domain.run import RunState, StageName, Verdict
from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import CorruptState
from central.kernel.problems import Problem
from central.kernel.site_feed import PositionUnknown
from tests.postgres.conftest import PgServer
from tests.postgres.counting import counted
from tests.unit.central.execution.values import (
    IDENTITY,
    MEMBER,
    NOW,
    OTHER,
    REQUEST,
    accepted,
    ended,
    refused,
)

Open = Callable[[DatabaseOptions], Database]


@pytest.fixture
def project_api(pg_server: PgServer, database_name: str, open_database: Open) -> PostgresRuns:
    return PostgresRuns(
        open_database(DatabaseOptions(pg_server.role_url("pharos_project_api", database_name)))
    )


@pytest.fixture
def site_api(pg_server: PgServer, database_name: str, open_database: Open) -> PostgresRuns:
    return PostgresRuns(open_database(DatabaseOptions(pg_server.role_url("pharos_site_api", database_name))))


def command(digest: bytes = b"x" * 32) -> StoreCommand:
    return StoreCommand(uuid4(), digest)


def create(runs: PostgresRuns, asked: StoreCommand | None = None, *, minutes: int = 0) -> Saved:
    asked = asked or command()
    step = accept(
        run_id_of(asked.id, REQUEST.project_id),
        REQUEST,
        UUID(int=40),
        identity=IDENTITY,
        member=MEMBER,
        now=NOW + timedelta(minutes=minutes),
    )
    return runs.add(asked, step)


def listing(runs: PostgresRuns, after: int = 0, *, unacknowledged: bool = False) -> CommandPage:
    return runs.commands("slurm", after, 100, unacknowledged=unacknowledged)


def test_e4_a_run_is_saved_with_its_first_command(project_api: PostgresRuns, site_api: PostgresRuns) -> None:
    saved = create(project_api)
    [first] = listing(site_api).entries
    assert (first.sequence, first.run) == (1, saved.run)
    assert isinstance(first.action, Submit)
    assert first.action.stage is StageName.STAGE_IN


def test_x7_the_same_command_again_is_the_same_run(project_api: PostgresRuns) -> None:
    asked = command()
    once = create(project_api, asked)
    again = create(project_api, asked)
    assert (again.run, again.repeated) == (once.run, True)
    assert project_api.recorded(asked) == once.run
    assert len(listing(project_api).entries) == 1
    with pytest.raises(Problem) as other:
        project_api.recorded(StoreCommand(asked.id, b"y" * 32))
    assert other.value.code == "command_reused"
    assert project_api.recorded(command()) is None


def test_s1_a_run_goes_through_its_stages_in_the_sites_feed(
    project_api: PostgresRuns, site_api: PostgresRuns
) -> None:
    run_id = create(project_api).run.run_id
    for expected in StageName:
        [issued] = listing(site_api, unacknowledged=True).entries
        assert isinstance(issued.action, Submit)
        assert issued.action.stage is expected
        assert site_api.run_of_command("slurm", issued.command_id) == run_id
        said = partial(acknowledge, command=issued.command_id, said=accepted(), now=NOW)
        site_api.move(command(), run_id, said, NOW)
        over = partial(record_result, command=issued.command_id, result=ended(), now=NOW)
        site_api.move(command(), run_id, over, NOW)
    [cleanup] = listing(site_api, unacknowledged=True).entries
    assert isinstance(cleanup.action, CleanUp)
    assert [each.sequence for each in listing(site_api).entries] == [1, 2, 3, 4]
    last = project_api.by_id(run_id)
    assert last is not None
    assert (last.state, last.released) == (RunState.COMPLETED, False)


def test_e2_an_expired_command_is_listed_again_under_its_new_id(
    project_api: PostgresRuns, site_api: PostgresRuns
) -> None:
    run_id = create(project_api).run.run_id
    [old] = listing(site_api).entries
    site_api.move(
        command(), run_id, lambda run: acknowledge(run, old.command_id, refused("command_expired"), NOW), NOW
    )
    [new] = listing(site_api, unacknowledged=True).entries
    assert (new.sequence, new.command_id != old.command_id) == (2, True)


def test_e3_what_a_step_refuses_changes_nothing(project_api: PostgresRuns, site_api: PostgresRuns) -> None:
    saved = create(project_api)
    with pytest.raises(StepRefused):
        site_api.move(command(), saved.run.run_id, lambda run: record_result(run, uuid4(), ended(), NOW), NOW)
    with pytest.raises(RunUnknown):
        site_api.move(command(), uuid4(), lambda run: cancel(run, OTHER, None, NOW), NOW)
    with pytest.raises(RunUnknown):
        site_api.run_of_command("k8s", listing(site_api).entries[0].command_id)
    assert project_api.by_id(saved.run.run_id) == saved.run


def test_e3_a_position_above_the_head_is_another_history(site_api: PostgresRuns) -> None:
    assert listing(site_api).entries == ()
    with pytest.raises(PositionUnknown):
        listing(site_api, after=1)


def test_e3_sequences_are_gapless_whoever_asks_at_once(
    pg_server: PgServer, database_name: str, open_database: Open
) -> None:
    url = pg_server.role_url("pharos_project_api", database_name)
    runs = PostgresRuns(open_database(DatabaseOptions(url, pool_size=8)))
    failures: list[BaseException] = []

    def several() -> None:
        try:
            for _ in range(5):
                create(runs)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=several) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert [each.sequence for each in listing(runs).entries] == list(range(1, 41))


def test_e4_runs_are_listed_newest_first_in_pages(project_api: PostgresRuns) -> None:
    made = [create(project_api, minutes=minute).run for minute in range(5)]
    first = project_api.of_project(REQUEST.project_id, None, 2)
    second = project_api.of_project(REQUEST.project_id, first.next, 2)
    third = project_api.of_project(REQUEST.project_id, second.next, 2)
    assert [*first.runs, *second.runs, *third.runs] == made[::-1]
    assert third.next is None
    with pytest.raises(RunUnknown):
        project_api.of_project(UUID(int=99), made[0].run_id, 2)
    assert project_api.of_project(UUID(int=99), None, 2).runs == ()


def test_e3_e4_a_list_of_many_runs_costs_as_many_statements_as_one_run(
    project_api: PostgresRuns, site_api: PostgresRuns
) -> None:
    first = create(project_api).run
    with counted() as one:
        assert project_api.of_project(REQUEST.project_id, None, 100).runs == (first,)
        assert len(listing(site_api).entries) == 1
    more = [create(project_api, minutes=minute).run for minute in range(1, 30)]
    with counted() as many:
        assert project_api.of_project(REQUEST.project_id, None, 100).runs == (*more[::-1], first)
        assert len(listing(site_api).entries) == 30
    assert many == one


def test_p7_a_snapshot_that_is_no_run_is_corruption(
    project_api: PostgresRuns, database: Database, pg_server: PgServer, database_name: str
) -> None:
    run_id = create(project_api).run.run_id
    with psycopg.connect(pg_server.admin_url(database_name), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE execution.aggregate_versions SET snapshot = '{}'")
    with pytest.raises(CorruptState):
        project_api.by_id(run_id)


def test_e7_a_cancel_while_a_stage_runs_keeps_who_asked(
    project_api: PostgresRuns, site_api: PostgresRuns
) -> None:
    run_id = create(project_api).run.run_id
    [first] = listing(site_api).entries
    site_api.move(command(), run_id, lambda run: acknowledge(run, first.command_id, accepted(), NOW), NOW)
    asked = project_api.move(command(), run_id, lambda run: cancel(run, OTHER, "stop", NOW), NOW)
    assert (asked.run.state, asked.run.cancellation and asked.run.cancellation.actor) == (
        RunState.CANCELLING,
        OTHER,
    )
    over = site_api.move(
        command(),
        run_id,
        lambda run: record_result(run, first.command_id, ended(Verdict.CANCELLED), NOW),
        NOW,
    )
    assert over.run == replace(over.run, state=RunState.CANCELLED)
