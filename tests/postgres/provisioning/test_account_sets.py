"""The complete sets of many allocations in one report: each as it would fare alone, all in one transaction
(P12, P21–P23, X7, X10).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest
from flask import Flask

from central.kernel.database import Database
from central.processes.provisioning_intake import Intake, build_app
from central.provisioning.adapters.postgres_accounts import PostgresAccounts
from central.provisioning.entrypoints.account_wire import AccountSetsReportBody, SetOutcomesBody
from tests.contract.goldens import Refused, Valid, canonical, load
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.account_reporter import account, any_set, at, content, sent
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, Agent, Clock, Projects, resource

Told = tuple[str, str | None]
RECORDED, UNCHANGED, STALE = ("recorded", None), ("unchanged", None), ("stale_report", None)
CONFLICTING, UNKNOWN = ("conflicting_report", None), ("refused", "allocation_unknown")
BAD_NAME, CORRUPT = ("refused", "account_name_invalid"), ("refused", "state_corrupt")
SENT, ANSWERED = load("account-sets"), load("account-sets-outcomes")


@dataclass(frozen=True, slots=True)
class Reporter:
    """An agent that reports the accounts of several allocations at once."""

    agent: Agent
    allocations: Sequence[str]
    url: str

    def post(self, time: str, *sets: tuple[str, list[dict[str, Any]]], report_id: UUID | None = None) -> Any:
        body = {
            "schema": 1,
            "reportId": str(report_id or uuid4()),
            "observedAt": time,
            "sets": [{"allocationId": name, "accounts": accounts} for name, accounts in sets],
        }
        path = f"/resource-provisioning/{self.agent.site}/account-sets"
        return self.agent.app.test_client().post(path, data=canonical(body), headers=self.agent.headers())

    def told(
        self, time: str, *sets: tuple[str, list[dict[str, Any]]], report_id: UUID | None = None
    ) -> list[Told]:
        """Outcome and code of each set, in order."""
        answer = self.post(time, *sets, report_id=report_id)
        assert answer.status_code == 200, answer.text
        outcomes = answer.get_json()["outcomes"]
        assert [one["allocationId"] for one in outcomes] == [name for name, _ in sets]
        return [(one["outcome"], one["code"]) for one in outcomes]

    def alone(self, time: str, allocation: str, *accounts: dict[str, Any], report_id: UUID) -> Any:
        """The same by the call of one set."""
        body = {"schema": 1, "reportId": str(report_id), "observedAt": time, "allocationId": allocation}
        path = f"/resource-provisioning/{self.agent.site}/accounts"
        raw = canonical(body | {"accounts": list(accounts)})
        return self.agent.app.test_client().post(path, data=raw, headers=self.agent.headers()).get_json()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture
def reporter(agent: Agent, pg_server: PgServer, name: str) -> Reporter:
    outcomes = agent.report(at(0), *(resource(number) for number in range(1, 5)))
    return Reporter(agent, [one["allocationId"] for one in outcomes], pg_server.admin_url(name))


@pytest.fixture
def app(intake_database: Database, projects: Projects, clock: Clock, pg_server: PgServer, name: str) -> Flask:
    """An intake that knows the goldens' two allocations."""
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        for each in SENT.valid[0].body["sets"]:
            connection.execute(
                "INSERT INTO provisioning.allocation_sightings"
                " VALUES (%s, 'slurm', NULL, 1, 1, 'l', %s, now())",
                (each["allocationId"], each["allocationId"]),
            )
    return build_app(intake_database, Intake(KEYS, INSTANCE, projects, clock=clock))


@pytest.mark.parametrize("case", SENT.valid, ids=lambda case: str(case.name))
def test_x10_the_golden_reports_are_taken_and_emitted_alike(app: Flask, case: Valid) -> None:
    body = msgspec.json.decode(case.canonical, type=AccountSetsReportBody)
    assert msgspec.json.Encoder(order="deterministic").encode(body) == case.canonical
    answer = sent(app, case.request, case.canonical)
    assert answer.status_code == 200, answer.text
    sound = [
        (one.allocation_id, "999" not in one.allocation_id, [a.name for a in one.accounts])
        for one in body.sets
    ]
    wanted = [UNKNOWN if not known else BAD_NAME if "U1" in names else RECORDED for _, known, names in sound]
    assert [(one["outcome"], one["code"]) for one in answer.get_json()["outcomes"]] == wanted


def test_x10_the_golden_answer_byte_for_byte(app: Flask) -> None:
    case = next(case for case in SENT.valid if case.name == "one_complete_and_empty")
    golden = next(case for case in ANSWERED.valid if case.name == "recorded")
    assert sent(app, case.request, case.canonical).data == golden.canonical
    for case in ANSWERED.valid:
        read = msgspec.json.decode(case.canonical, type=SetOutcomesBody)
        assert msgspec.json.Encoder(order="deterministic").encode(read) == case.canonical


@pytest.mark.parametrize("case", SENT.refused, ids=lambda case: str(case.name))
def test_p21_a_golden_refusal_leaves_nothing(
    app: Flask, pg_server: PgServer, name: str, case: Refused
) -> None:
    answer = sent(app, case.request, case.raw)
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code)
    with psycopg.connect(pg_server.admin_url(name)) as connection:
        for table in ("account_sets", "accounts", "account_reports"):
            assert connection.execute(f"SELECT FROM provisioning.{table}".encode()).fetchall() == []


def test_p12_one_bad_set_loses_no_other(reporter: Reporter) -> None:
    a, b, c, d = reporter.allocations
    assert reporter.told(at(9), (b, [account("b/1")]), (c, [account("c/1")])) == [RECORDED, RECORDED]
    reporter.rows(
        "UPDATE provisioning.account_sets SET site = 'k8s' WHERE allocation_id = '" + c + "' RETURNING 1"
    )
    nowhere = str(uuid4())
    told = reporter.told(
        at(5),
        (a, [account("a/1")]),
        (b, [account("b/2")]),
        (nowhere, [account("n/1")]),
        (c, [account("c/1")]),
        (d, [account("d/1", name="Röt")]),
    )
    assert told == [RECORDED, STALE, UNKNOWN, CORRUPT, BAD_NAME]
    assert reporter.told(at(9), (b, [account("b/2")]), (d, [account("d/1")])) == [CONFLICTING, RECORDED]
    uids = {
        row[0] for row in reporter.rows("SELECT native_uid FROM provisioning.accounts WHERE state <> 'a'")
    }
    assert uids == {"a/1", "b/1", "c/1", "d/1"}


def test_x7_a_retry_hears_the_same_and_renews_nothing(reporter: Reporter) -> None:
    a, b, *_ = reporter.allocations
    report = uuid4()
    sets = [(a, [account("a/1")]), (b, []), (str(uuid4()), [])]
    told = reporter.told(at(5), *sets, report_id=report)
    assert told == [RECORDED, RECORDED, UNKNOWN]
    assert reporter.told(at(7), (a, [account("a/2")])) == [RECORDED]
    before = reporter.rows("SELECT * FROM provisioning.account_sets ORDER BY 1")
    assert reporter.told(at(5), *sets, report_id=report) == told
    assert reporter.rows("SELECT * FROM provisioning.account_sets ORDER BY 1") == before
    for other in (sets[:2], sets[::-1], [(a, [account("a/2")]), *sets[1:]]):
        assert reporter.post(at(5), *other, report_id=report).get_json()["code"] == "command_reused"
    assert reporter.post(at(6), *sets, report_id=report).get_json()["code"] == "command_reused"
    assert reporter.rows("SELECT * FROM provisioning.account_sets ORDER BY 1") == before


def test_x7_both_calls_share_the_ids_of_reports(reporter: Reporter) -> None:
    a, b, *_ = reporter.allocations
    report = uuid4()
    assert reporter.told(at(5), (a, [account("a/1")]), report_id=report) == [RECORDED]
    assert reporter.alone(at(5), a, account("a/1"), report_id=report)["outcome"] == "recorded"
    assert reporter.alone(at(6), b, report_id=report)["code"] == "command_reused"
    assert reporter.alone(at(6), a, account("a/1"), report_id=uuid4())["outcome"] == "unchanged"


def test_p23_what_vanishes_from_one_set_is_absent_there_alone(reporter: Reporter) -> None:
    a, b, *_ = reporter.allocations
    same = account("x/1")
    assert reporter.told(at(1), (a, [same]), (b, [same])) == [RECORDED, RECORDED]
    assert reporter.told(at(2), (a, []), (b, [same])) == [RECORDED, UNCHANGED]
    rows = reporter.rows("SELECT allocation_id::text, state::text FROM provisioning.accounts")
    assert sorted(rows) == sorted([(a, "a"), (b, "r")])


@pytest.mark.parametrize("seed", range(2))
def test_p21_many_at_once_fare_as_each_alone(reporter: Reporter, seed: int) -> None:
    """A plain model of every allocation, told in batches and now and then by the call of one set."""
    chance = random.Random(seed)
    times = dict.fromkeys(reporter.allocations, -1)
    stands: dict[str, list[dict[str, Any]] | None] = dict.fromkeys(reporter.allocations)
    for _ in range(25):
        when, wanted, sets = chance.randint(0, 30), [], []
        for name in chance.sample(list(reporter.allocations), chance.randint(1, 4)):
            old = stands[name]
            accounts = old if old is not None and chance.random() < 0.4 else any_set(chance)
            same = old is not None and content(old) == content(accounts)
            sets.append((name, accounts))
            if when < times[name]:
                wanted.append(STALE)
            elif when == times[name] and not same:
                wanted.append(CONFLICTING)
            else:
                wanted.append(UNCHANGED if same else RECORDED)
                times[name], stands[name] = when, accounts
        if len(sets) == 1 and chance.random() < 0.5:
            answer = reporter.alone(at(when), sets[0][0], *sets[0][1], report_id=uuid4())
            assert (answer.get("outcome") or answer["code"]) == wanted[0][0]
        else:
            assert reporter.told(at(when), *sets) == wanted
    rows = reporter.rows(
        "SELECT allocation_id::text, native_uid FROM provisioning.accounts WHERE state <> 'a'"
    )
    assert sorted(rows) == sorted(
        (name, one["nativeUid"]) for name, accounts in stands.items() for one in accounts or ()
    )


def test_x7_two_reporters_at_once_lose_nothing_and_tear_no_set(reporter: Reporter) -> None:
    """Overlapping batches in two orders, retries beside first tries: the newest whole set of each stands."""

    def turn(number: int) -> list[Told]:
        names = list(reporter.allocations)[:: 1 if number % 2 else -1]
        sets = [(name, [account(f"{number // 2}/{one}") for one in range(3)]) for name in names]
        return reporter.told(at(number // 2), *sets, report_id=UUID(int=number + 1))

    with ThreadPoolExecutor(4) as pool:
        for told in pool.map(turn, range(24)):
            assert set(told) <= {RECORDED, UNCHANGED, STALE}
    rows = reporter.rows(
        "SELECT allocation_id::text, array_agg(native_uid ORDER BY native_uid) FROM provisioning.accounts"
        " WHERE state <> 'a' GROUP BY 1"
    )
    assert sorted(rows) == sorted((name, ["11/0", "11/1", "11/2"]) for name in reporter.allocations)


def test_x7_a_failure_at_any_statement_leaves_nothing(
    reporter: Reporter, intake_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last statement fails: neither set nor account nor receipt stays; the same bytes are then taken."""
    a, b, *_ = reporter.allocations
    report, sets = uuid4(), [(a, [account("a/1")]), (b, [account("b/1")])]
    keep = PostgresAccounts._keep

    def fail(*_words: object) -> None:
        raise RuntimeError("cut")

    monkeypatch.setattr(PostgresAccounts, "_keep", fail)
    assert reporter.post(at(5), *sets, report_id=report).status_code == 500
    assert reporter.rows("SELECT FROM provisioning.account_sets") == []
    assert reporter.rows("SELECT FROM provisioning.accounts") == []
    monkeypatch.setattr(PostgresAccounts, "_keep", keep)
    assert reporter.told(at(5), *sets, report_id=report) == [RECORDED, RECORDED]


def test_p12_statements_do_not_grow_with_sets(
    reporter: Reporter, intake_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Database.run
    counted: list[int] = []

    def counting(self: Database, work: Any, **more: Any) -> Any:
        def counted_work(tx: Any) -> Any:
            counter = Counting(tx)
            found = work(counter)
            counted.append(counter.statements)
            return found

        return run(self, counted_work, **more)

    monkeypatch.setattr(Database, "run", counting)
    for number in (1, 4):
        sets = [(name, [account(f"{name}/{number}")]) for name in reporter.allocations[:number]]
        assert reporter.told(at(number), *sets) == [RECORDED] * number
    assert reporter.told(at(9), *sets) == [UNCHANGED] * 4
    assert counted == [9, 9, 5]


class Counting:
    """A transaction that counts."""

    def __init__(self, tx: Any) -> None:
        self._tx, self.statements = tx, 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)

        def call(*words: Any) -> Any:
            self.statements += 1
            return method(*words)

        return call
