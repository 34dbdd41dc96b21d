"""Sightings beside changes, retries beside their first try, servers that fail in between (P8, P12)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from flask import Flask

from central.kernel.database import Database, DatabaseOptions
from central.kernel.queries import load_queries
from central.processes.provisioning_intake import Intake, build_app
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.beside import in_background, wait_for_lock
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    KEYS,
    ROLE,
    Agent,
    Clock,
    Projects,
    report_body,
    resource,
    told,
)

T1, T2, T3 = (f"2026-11-02T10:00:{second:02}Z" for second in (1, 2, 3))


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_a_sighting_that_waited_for_a_change_renews_nothing_stale(
    agent: Agent, pg_server: PgServer, name: str, admin: Database, ends: str
) -> None:
    """The statement alone, without the Site's lock: a change commits while it waits."""
    allocation = agent.report(T1, resource())[0]["allocationId"]
    renew = load_queries("central.provisioning")["renew"].statement
    with (
        psycopg.connect(pg_server.admin_url(name)) as changing,
        psycopg.connect(pg_server.admin_url(name), autocommit=True) as sighting,
    ):
        found = sighting.execute("SELECT content::text FROM provisioning.allocation_sightings").fetchone()
        assert found
        changing.execute(
            "UPDATE provisioning.allocation_sightings "
            "SET version = 2, revision = 2, content = gen_random_uuid()"
        )
        params = {
            "ids": "{" + allocation + "}",
            "contents": "{" + found[0] + "}",
            "site": "slurm",
            "observed_at": T2,
        }
        with in_background(lambda: sighting.execute(renew, params).fetchone()) as result:
            wait_for_lock(admin, pg_server, name)
            changing.execute(ends.encode())
            assert result() == (([], []) if ends == "COMMIT" else ([1], [1]))


def test_a_report_that_waits_for_a_change_is_decided_again(
    agent: Agent, pg_server: PgServer, name: str
) -> None:
    """Over HTTP: old content that comes late is stale, never a sighting of the new version."""
    agent.report(T1, resource())
    with ThreadPoolExecutor(8) as pool:
        bodies = [report_body(f"2026-11-02T10:00:{n:02}Z", resource(paused=n % 2 == 0)) for n in range(2, 26)]
        answers = list(pool.map(agent.post, bodies))
    outcomes = [told(answer.get_json()["outcomes"])[0] for answer in answers]
    assert {outcome for outcome, _ in outcomes} <= {"changed", "seen", "stale_report"}
    changed = sorted(revision or 0 for outcome, revision in outcomes if outcome == "changed")
    assert changed == list(range(2, 2 + len(changed)))


def test_overlapping_retries_never_deadlock(agent: Agent, pg_server: PgServer, name: str) -> None:
    """The agent's retry overlaps its first try, ids in any order; nobody waits in a ring."""
    rows = [resource(n) for n in range(1, 201)]
    agent.report(T1, *rows)
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        before = deadlocks(connection)

        def retry(n: int) -> int:
            order = rows if n % 2 else list(reversed(rows))
            return agent.post(report_body(f"2026-11-02T10:00:{2 + n // 4:02}Z", *order)).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(retry, range(64))) == {200}
        assert deadlocks(connection) == before


def deadlocks(connection: psycopg.Connection[Any]) -> int:
    connection.execute("SELECT pg_stat_clear_snapshot()")
    row = connection.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    return int(row[0]) if row else -1


def test_the_first_try_and_its_retry_give_one_receipt(agent: Agent, name: str, pg_server: PgServer) -> None:
    body = report_body(T1, *[resource(n) for n in range(1, 51)])
    with ThreadPoolExecutor(6) as pool:
        answers = [answer.get_json() for answer in pool.map(agent.post, [body] * 12)]
    assert all(answer["outcomes"] == answers[0]["outcomes"] for answer in answers)
    assert {o["outcome"] for o in answers[0]["outcomes"]} == {"changed"}
    with psycopg.connect(pg_server.admin_url(name)) as connection:
        for table in ("receipts", "aggregate_versions", "aggregate_heads", "allocation_sightings"):
            assert connection.execute(f"SELECT count(*) FROM provisioning.{table}").fetchone() == (50,)


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_conflicts_run_the_whole_transaction_again_f01(
    agent: Agent, pg_server: PgServer, name: str, sqlstate: str
) -> None:
    """The receipt's insert fails once; the client sees success, one receipt, one revision."""
    agent.report(T1, resource())
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        connection.execute(
            f"""
            CREATE SEQUENCE provisioning.failures;
            GRANT USAGE ON SEQUENCE provisioning.failures TO PUBLIC;
            CREATE FUNCTION provisioning.fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('provisioning.failures') = 1 THEN
                    RAISE EXCEPTION 'forced' USING ERRCODE = '{sqlstate}';
                END IF;
                RETURN NEW;
            END $$;
            GRANT EXECUTE ON FUNCTION provisioning.fail_once() TO PUBLIC;
            CREATE TRIGGER fail_once BEFORE INSERT ON provisioning.receipts
                FOR EACH ROW EXECUTE FUNCTION provisioning.fail_once();
            """
        )
        assert told(agent.report(T2, resource(paused=True))) == [("changed", 2)]
        assert connection.execute("SELECT count(*) FROM provisioning.receipts").fetchone() == (2,)
        assert connection.execute("SELECT last_value FROM provisioning.failures").fetchone() == (2,)


def test_a_connection_killed_while_idle_f04(agent: Agent, pg_server: PgServer, name: str) -> None:
    agent.report(T1, resource())
    pg_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name}' AND usename = '{ROLE}'"
    )
    assert told(agent.report(T2, resource())) == [("seen", 1)]
    assert told(agent.report(T3, resource(paused=True))) == [("changed", 2)]


def test_no_transaction_is_open_while_projects_are_looked_up_f08(
    agent: Agent, projects: Projects, pg_server: PgServer, name: str
) -> None:
    """The lookup hangs for every report; other reports and a read answer at once, no backend is in one."""
    known = agent.report(T1, resource(1))[0]["allocationId"]
    hanging, go_on = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        hanging.release()
        go_on.wait(30)

    projects.before = hang
    with ThreadPoolExecutor(12) as pool:
        bodies = [report_body(T2, resource(n)) for n in range(10, 22)]
        futures = [pool.submit(agent.post, body) for body in bodies]
        for _ in futures:
            assert hanging.acquire(timeout=20)
        with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
            states = connection.execute(
                f"SELECT DISTINCT state FROM pg_stat_activity WHERE datname = '{name}' AND usename = '{ROLE}'"
            ).fetchall()
        assert states == [("idle",)]
        assert agent.allocation(known).status_code == 200
        assert told(agent.report(T3, resource(1))) == [("seen", 1)]
        go_on.set()
        assert [future.result().status_code for future in futures] == [200] * 12


def test_a_pool_that_is_used_up_is_503_f08(
    pg_server: PgServer, name: str, projects: Projects, clock: Clock
) -> None:
    url = pg_server.role_url(ROLE, name)
    with Database(DatabaseOptions(url, pool_size=1, pool_timeout_seconds=2)) as database:
        agent = Agent(build_app(database, Intake(KEYS, INSTANCE, projects, clock=clock)))
        agent.report(T1, resource())
        with database.transaction():
            answer = agent.post(report_body(T2, resource()))
        assert (answer.status_code, answer.get_json()["code"]) == (503, "database_busy")
        assert "Retry-After" in answer.headers
        assert told(agent.report(T2, resource())) == [("seen", 1)]


def test_two_sites_that_report_one_new_resource(app: Flask) -> None:
    agents = [Agent(app, site, held[0]) for site, held in KEYS.items()]
    for number in range(1, 9):
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda a, n=number: told(a.report(T1, resource(n)))[0], agents))
        assert sorted(answers, key=str) == [("changed", 1), ("refused", None)]
