"""Sets of accounts in any order, beside each other, and on a server that fails (P21, P23, X7, F01)."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from central.kernel.database import Database
from central.kernel.queries import load_queries
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.account_reporter import (
    Reporter,
    account,
    any_set,
    at,
    content,
    identity,
    reporter,
)
from tests.postgres.provisioning.beside import in_background, wait_for_lock
from tests.postgres.provisioning.conftest import Agent

__all__ = ["reporter"]


@pytest.mark.parametrize("seed", range(3))
def test_p21_any_order_leaves_what_a_plain_model_leaves(reporter: Reporter, seed: int) -> None:
    chance = random.Random(seed)
    time, stands = -1, None
    evidence: set[tuple[Any, ...]] = set()
    heard: dict[UUID, tuple[int, list[dict[str, Any]], str]] = {}
    for _ in range(60):
        if heard and chance.random() < 0.2:
            report_id = chance.choice(list(heard))
            when, accounts, wanted = heard[report_id]
            assert reporter.told(at(when), *reversed(accounts), report_id=report_id) == wanted
            continue
        report_id, when = uuid4(), chance.randint(max(0, time - 2), min(30, time + 2))
        accounts = stands if stands is not None and chance.random() < 0.3 else any_set(chance)
        same = stands is not None and content(stands) == content(accounts)
        if when < time:
            wanted = "stale_report"
        elif when == time and not same:
            wanted = "conflicting_report"
        else:
            wanted = "unchanged" if same else "recorded"
            time, stands = when, accounts
            heard[report_id] = (when, accounts, wanted)
            evidence |= {identity(one) for one in accounts}
        assert reporter.told(at(when), *accounts, report_id=report_id) == wanted
    states = {"r": "ready", "i": "incomplete"}
    columns = "party_id::text, binding_id::text, generation, native_uid"
    rows = reporter.rows(f"SELECT {columns}, name, uid_number, state::text FROM provisioning.accounts")
    assert {row[:4] for row in rows} == evidence
    assert {(*row[:6], states[row[6]]) for row in rows if row[6] != "a"} == content(stands or [])
    ((receipts,),) = reporter.rows("SELECT count(*) FROM provisioning.account_reports")
    assert receipts == len(heard)


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_a_renewal_that_waited_for_a_change_renews_nothing_stale(
    reporter: Reporter, pg_server: PgServer, name: str, admin: Database, ends: str
) -> None:
    """The statement alone: another set commits while it waits."""
    assert reporter.told(at(1), account()) == "recorded"
    renew = load_queries("central.provisioning", "accounts.sql")["renew_set"].statement
    ((said,),) = reporter.rows("SELECT content FROM provisioning.account_sets")
    params = {"allocation": reporter.allocation, "site": "slurm", "content": said, "report_id": uuid4()}
    times = {"observed_at": at(2), "now": at(3), "forget_before": at(0), "digest": b"d" * 32}
    with (
        psycopg.connect(pg_server.admin_url(name)) as changing,
        psycopg.connect(pg_server.admin_url(name), autocommit=True) as renewing,
    ):
        changing.execute("UPDATE provisioning.account_sets SET version = 2, content = gen_random_uuid()")
        with in_background(lambda: renewing.execute(renew, params | times).fetchall()) as result:
            wait_for_lock(admin, pg_server, name)
            changing.execute(ends.encode())
            assert result() == ([] if ends == "COMMIT" else [(1, 1)])
    receipts = reporter.rows("SELECT outcome FROM provisioning.account_reports ORDER BY outcome")
    assert receipts == [("recorded",)] + ([] if ends == "COMMIT" else [("unchanged",)])


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_conflicts_run_the_whole_transaction_again_f01(reporter: Reporter, sqlstate: str) -> None:
    """The receipt's insert fails once; the client sees success, one receipt, one version."""
    with psycopg.connect(reporter.url, autocommit=True) as connection:
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
            CREATE TRIGGER fail_once BEFORE INSERT ON provisioning.account_reports
                FOR EACH ROW EXECUTE FUNCTION provisioning.fail_once();
            """.encode()
        )
    assert reporter.told(at(1), account()) == "recorded"
    assert reporter.rows("SELECT version, accounts FROM provisioning.account_sets") == [(1, 1)]
    assert reporter.rows("SELECT outcome FROM provisioning.account_reports") == [("recorded",)]
    assert reporter.rows("SELECT last_value FROM provisioning.failures") == [(2,)]


def test_p21_retries_beside_other_sets_lose_and_double_nothing(agent: Agent, reporter: Reporter) -> None:
    """Every report is sent twice at once; its two answers agree and what stands is the latest."""
    sets = {second: (uuid4(), [account(f"x/{second % 3}")]) for second in range(1, 13)}

    def post(second: int) -> tuple[int, str]:
        report_id, accounts = sets[second]
        return second, reporter.told(at(second), *accounts, report_id=report_id)

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(post, sorted([*sets, *sets])))
    counted = {second for second, outcome in told if outcome in ("recorded", "unchanged")}
    assert 12 in counted
    assert {outcome for _, outcome in told} <= {"recorded", "unchanged", "stale_report"}
    ((receipts,),) = reporter.rows("SELECT count(*) FROM provisioning.account_reports")
    assert receipts == len(counted)
    ((observed, present),) = reporter.rows(
        "SELECT extract(second FROM observed_at)::int, accounts FROM provisioning.account_sets"
    )
    assert (observed, present) == (12, 1)
    assert ("x/0", 1, "r") in reporter.present()
