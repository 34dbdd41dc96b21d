"""X13 against the running Site API: parked polls starve nobody, hold no connection, miss nothing."""

import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
import urllib3

from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER, done, until
from tests.postgres.ssh_access.conftest import POLLERS, SITES, Answer, Running, add_body, launch

PARKED = POLLERS * len(SITES)
WAIT = 55
WOKEN = 40  # what comes by then was woken: its own deadline is later


def head_of(running: Running, grant: str) -> int:
    return int(running.site(grant, "GET", "/changes?after=0").body["next"])


def connections_of(running: Running, role: str) -> int:
    with psycopg.connect(running.admin_url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND application_name <> 'pharos-listen'"
            " AND state <> 'idle'",
            [role],
        ).fetchone()
    assert row is not None
    return int(row[0])


def parked_count(running: Running) -> float:
    """Polls that wait, as the process says."""
    return gauge(running, "pharos_long_polls_parked")


def until_parked(running: Running, count: int) -> None:
    until(lambda: parked_count(running) == count)


def gauge(running: Running, name: str) -> float:
    text = running.pool.request("GET", f"{running.site_url}/metrics", timeout=60).data.decode()
    line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


def test_72_parked_polls_leave_health_and_changes(running: Running) -> None:
    """Two Sites with 36 polls each: /healthz and a key change answer while all are parked; the change wakes
    the polls of its Site and no other.
    """
    grants = {site: running.grant(site) for site in SITES}
    heads = {site: head_of(running, grants[site]) for site in SITES}

    def poll(site: str) -> Answer:
        return running.site(grants[site], "GET", f"/changes?after={heads[site]}&wait={WAIT}")

    with ThreadPoolExecutor(PARKED) as workers:
        polls: dict[str, list[Future[Answer]]] = {
            site: [workers.submit(poll, site) for _ in range(POLLERS)] for site in SITES
        }
        until_parked(running, PARKED)
        until(lambda: connections_of(running, "pharos_site_api") == 0)

        assert running.pool.request("GET", f"{running.site_url}/healthz").status == 200
        assert not any(poll.done() for both in polls.values() for poll in both)
        added = running.member(running.token(), "POST", body=add_body(1000))
        assert added.status == 201
        woken = done(polls["slurm"], WOKEN)
        assert not any(poll.done() for poll in polls["k8s"])
        assert Counter(answer.status for answer in woken) == {200: POLLERS}
        assert all(answer.body["changes"][0]["keyId"] == added.body["keyId"] for answer in woken)

        assert running.member(running.token(), "POST", body=add_body(1001, "k8s")).status == 201
        assert all(len(answer.body["changes"]) == 1 for answer in done(polls["k8s"], WOKEN))


def test_x13_more_polls_of_one_site_than_it_may_park_take_nothing_from_another(running: Running) -> None:
    """Enough polls of one Site to take every thread: those beyond its share answer at once what stands, and
    the other Site's poll and /healthz answer while its share is parked.
    """
    grants = {site: running.grant(site) for site in SITES}
    heads = {site: head_of(running, grants[site]) for site in SITES}
    more = POLLERS + 20

    def poll(site: str) -> Answer:
        return running.site(grants[site], "GET", f"/changes?after={heads[site]}&wait={WAIT}")

    with ThreadPoolExecutor(POLLERS + more) as workers:
        polls = [workers.submit(poll, "slurm") for _ in range(POLLERS + more)]
        until(lambda: sum(one.done() for one in polls) == more)
        assert parked_count(running) == POLLERS
        for answer in (one.result() for one in polls if one.done()):
            assert (answer.status, answer.body["changes"], answer.body["next"]) == (200, [], heads["slurm"])
        other = workers.submit(poll, "k8s")
        until_parked(running, POLLERS + 1)
        assert running.site(grants["k8s"], "GET", "/grant").status == 200
        assert running.pool.request("GET", f"{running.site_url}/healthz").status == 200
        assert running.member(running.token(), "POST", body=add_body(1010, "k8s")).status == 201
        assert len(other.result(WOKEN).body["changes"]) == 1
        assert running.member(running.token(), "POST", body=add_body(1011)).status == 201
        done(polls, WOKEN)


def test_a_poll_without_news_ends_at_its_deadline_empty(running: Running) -> None:
    grant = running.grant()
    head = head_of(running, grant)
    began = time.monotonic()
    answer = running.site(grant, "GET", f"/changes?after={head}&wait=1")
    assert time.monotonic() - began >= 1
    assert (answer.status, answer.body["changes"], answer.body["next"], answer.body["more"]) == (
        200,
        [],
        head,
        False,
    )


def test_e3_a_poll_above_the_head_is_refused_at_once(running: Running) -> None:
    """Parked, it would be passed over by the changes that take those sequences."""
    grant = running.grant()
    head = head_of(running, grant)
    answer = running.site(grant, "GET", f"/changes?after={head + 1}&wait={WAIT}")
    assert (answer.status, answer.body["code"], answer.body["head"]) == (409, "feed_position_unknown", head)
    assert running.site(grant, "GET", f"/changes?after={head}").status == 200


def test_no_change_is_missed_between_reading_and_waiting(running: Running) -> None:
    """Changes made while polls come and go: following `next` sees each sequence once, in order."""
    grant = running.grant()
    head = head_of(running, grant)
    token = running.token("bob")
    seen: list[int] = []
    stop = threading.Event()

    def follow() -> None:
        after = head
        while not stop.is_set() and len(seen) < 15:
            page = running.site(grant, "GET", f"/changes?after={after}&wait=5").body
            seen.extend(change["sequence"] for change in page["changes"])
            after = page["next"]

    follower = threading.Thread(target=follow)
    follower.start()
    for number in range(15):
        assert running.member(token, "POST", body=add_body(2000 + number)).status == 201
    follower.join(timeout=NEVER)
    stop.set()
    assert seen == list(range(head + 1, head + 16))


def test_a_grant_revoked_while_its_poll_is_parked_reads_nothing_more(running: Running) -> None:
    grant = running.grant()
    head = head_of(running, grant)
    with ThreadPoolExecutor(1) as worker:
        poll = worker.submit(running.site, grant, "GET", f"/changes?after={head}&wait={WAIT}")
        until_parked(running, 1)
        running.revoke(grant)
        assert running.member(running.token(), "POST", body=add_body(1003)).status == 201
        answer = poll.result(timeout=WOKEN)
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")


def test_polls_live_through_a_lost_listen_connection(running: Running) -> None:
    grant = running.grant()
    head = head_of(running, grant)
    with ThreadPoolExecutor(1) as worker:
        poll = worker.submit(running.site, grant, "GET", f"/changes?after={head}&wait={WAIT}")
        until_parked(running, 1)
        with psycopg.connect(running.admin_url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'pharos-listen'"
            )
        assert running.member(running.token(), "POST", body=add_body(1004)).status == 201
        assert len(poll.result(timeout=WOKEN).body["changes"]) == 1
    until(lambda: gauge(running, "pharos_listening") == 1)


def test_g03_stopping_answers_parked_polls_and_accepted_requests(
    pg_server: PgServer, template: str, tmp_path: Path
) -> None:
    """SIGTERM with polls parked: each gets its empty 200 before its deadline, none a broken connection."""
    name = "t_g03_stopping"
    pg_server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    with ExitStack() as stack:
        stack.callback(pg_server.execute, f"DROP DATABASE {name} WITH (FORCE)")
        running = launch(pg_server, name, tmp_path, stack)
        grant = running.grant()

        def poll() -> Any:
            return running.site(grant, "GET", f"/changes?after=0&wait={WAIT}")

        with ThreadPoolExecutor(8) as workers:
            polls = [workers.submit(poll) for _ in range(8)]
            until_parked(running, 8)
            running.processes["site-api"].terminate()
            assert {answer.status for answer in done(polls, WOKEN)} == {200}
        assert running.processes["site-api"].wait(NEVER) == 0
        with pytest.raises(urllib3.exceptions.HTTPError):
            running.pool.request("GET", f"{running.site_url}/healthz", timeout=30)
