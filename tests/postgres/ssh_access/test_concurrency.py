"""Writers at once: one key, one receipt, a feed without gaps (E3, X7, F01, F09)."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from uuid import UUID, uuid4

import psycopg
import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
from central.ssh_access.application.add_key import AddKey, AddRequest
from central.ssh_access.application.ports import SiteResult
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.application.remove_key import RemoveKey
from central.ssh_access.domain.account import AccountAnswer
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.member_key import (
    KEY_LIMITS,
    KeyExists,
    KeyLimitReached,
    MemberId,
    MemberKey,
    Outcome,
    Receipt,
    Result,
    State,
    Target,
)
from tests.contract.member_keys_suite import ed25519
from tests.postgres.conftest import PgServer

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
SLURM = Site("slurm")
WRITERS = 8


class Everybody:
    """Every member has an account."""

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:
        return Target(subject, 5_000_001, UUID(int=1))


@pytest.fixture
def keys(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> PostgresMemberKeys:
    url = pg_server.role_url("pharos_member_api", database_name)
    return PostgresMemberKeys(open_database(DatabaseOptions(url, pool_size=WRITERS)))


@pytest.fixture
def site_keys(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> PostgresMemberKeys:
    url = pg_server.role_url("pharos_site_api", database_name)
    return PostgresMemberKeys(open_database(DatabaseOptions(url, pool_size=WRITERS)))


def add(
    keys: PostgresMemberKeys, number: int, member: str = "alice", command: Command | None = None
) -> MemberKey:
    given = command or Command(uuid4(), hashlib.sha256(b"add").digest())
    request = AddRequest(given, MemberId(member), SLURM, "laptop", ed25519(number))
    return AddKey(Everybody(), keys)(request, NOW).key


def at_once(work: Callable[[int], object], times: int = WRITERS) -> list[object]:
    """Runs `work` in as many threads, all let go together; an exception is its result."""
    barrier = Barrier(times)

    def one(index: int) -> object:
        barrier.wait()
        try:
            return work(index)
        except Exception as error:
            return error

    with ThreadPoolExecutor(times) as workers:
        return list(workers.map(one, range(times)))


def test_the_same_blob_added_at_once_is_one_key(keys: PostgresMemberKeys) -> None:
    outcomes = at_once(lambda _: add(keys, 1))
    added = [outcome for outcome in outcomes if isinstance(outcome, MemberKey)]
    assert len(added) == 1
    assert sum(isinstance(outcome, KeyExists) for outcome in outcomes) == WRITERS - 1
    assert keys.changes(SLURM, 0, 500).next == 1


def test_f01_the_same_command_at_once_is_one_receipt(keys: PostgresMemberKeys) -> None:
    command = Command(uuid4(), b"d" * 32)
    outcomes = at_once(lambda _: add(keys, 1, command=command))
    assert {outcome.key_id for outcome in outcomes if isinstance(outcome, MemberKey)} == {
        keys.of_member(MemberId("alice"))[0].key_id
    }
    assert all(isinstance(outcome, MemberKey) for outcome in outcomes), outcomes
    assert keys.changes(SLURM, 0, 500).next == 1


def test_the_limit_holds_against_adds_at_once(keys: PostgresMemberKeys) -> None:
    limit = KEY_LIMITS.keys_per_member_and_site
    for number in range(1, limit - 1):
        add(keys, number)
    outcomes = at_once(lambda index: add(keys, 100 + index))
    assert sum(isinstance(outcome, MemberKey) for outcome in outcomes) == 2
    assert sum(isinstance(outcome, KeyLimitReached) for outcome in outcomes) == WRITERS - 2


def test_the_feed_is_gapless_and_complete_under_eight_writers(
    keys: PostgresMemberKeys, site_keys: PostgresMemberKeys, database_url: str
) -> None:
    """Each writer adds and removes; a reader that follows `next` meanwhile misses nothing."""
    each = 6
    seen: list[int] = []

    def write(index: int) -> None:
        for number in range(each):
            key = add(keys, index * 100 + number + 1, f"member{index}")
            if number % 2:
                RemoveKey(keys)(Command(uuid4(), b"r" * 32), key.member, key.key_id, NOW)

    def follow() -> None:
        after, total = 0, WRITERS * (each + each // 2)
        while after < total:
            found = site_keys.changes(SLURM, after, 3)
            seen.extend(change.sequence for change in found.entries)
            after = found.next

    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(follow)
        outcomes = at_once(lambda index: write(index))
        following.result(timeout=60)
    assert outcomes == [None] * WRITERS
    assert seen == sorted(set(seen))
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT sequence FROM ssh_access.changes ORDER BY 1").fetchall()
    assert [row[0] for row in rows] == list(range(1, WRITERS * (each + each // 2) + 1))
    everything = site_keys.changes(SLURM, 0, 500).entries
    assert len({change.key_id for change in everything}) == len(everything) == WRITERS * each


def report_of(site_keys: PostgresMemberKeys, outcome: Outcome, seconds: int = 1) -> list[SiteResult]:
    at = NOW + timedelta(seconds=seconds)
    return [
        SiteResult(change.sequence, change.key_id, Result(change.change_id, outcome, None, at))
        for change in site_keys.changes(SLURM, 0, 500).entries
    ]


def test_the_same_report_at_once_is_recorded_once(
    keys: PostgresMemberKeys, site_keys: PostgresMemberKeys
) -> None:
    for number in range(1, 6):
        add(keys, number)
    results = report_of(site_keys, Outcome.APPLIED)
    command = Command(uuid4(), b"p" * 32)
    record = RecordResults(site_keys)
    outcomes = at_once(lambda _: record(command, SLURM, NOW, results, NOW))
    assert outcomes == [[Receipt.RECORDED] * 5] * WRITERS
    assert {key.revision for key in keys.of_member(MemberId("alice"))} == {2}


def test_overlapping_reports_in_other_orders_never_deadlock(
    keys: PostgresMemberKeys, site_keys: PostgresMemberKeys
) -> None:
    for number in range(1, 16):
        add(keys, number)
    results = report_of(site_keys, Outcome.APPLIED)
    record = RecordResults(site_keys)

    def report(index: int) -> object:
        ordered = results if index % 2 else results[::-1]
        return record(Command(uuid4(), bytes([index]) * 32), SLURM, NOW, ordered, NOW)

    outcomes = at_once(report)
    receipts = [receipt for outcome in outcomes if isinstance(outcome, list) for receipt in outcome]
    assert len(receipts) == 15 * WRITERS
    assert receipts.count(Receipt.RECORDED) == 15
    assert receipts.count(Receipt.UNCHANGED) == 15 * (WRITERS - 1)


def test_a_removal_and_a_report_of_the_addition_at_once_end_in_removing(
    keys: PostgresMemberKeys, site_keys: PostgresMemberKeys
) -> None:
    """Whichever comes first, the late word on the addition never brings the key back."""
    for number in range(1, 9):
        key = add(keys, number)
        results = [entry for entry in report_of(site_keys, Outcome.APPLIED) if entry.key_id == key.key_id]

        def either(index: int, key: MemberKey = key, results: list[SiteResult] = results) -> object:
            if index:
                return RecordResults(site_keys)(Command(uuid4(), b"p" * 32), SLURM, NOW, results, NOW)
            return RemoveKey(keys)(Command(uuid4(), b"r" * 32), key.member, key.key_id, NOW)

        outcomes = at_once(either, 2)
        assert not any(isinstance(outcome, Exception) for outcome in outcomes), outcomes
        now = next(found for found in keys.of_member(key.member) if found.key_id == key.key_id)
        assert now.state is State.REMOVING


def test_a_key_whose_row_and_version_differ_is_corrupt_and_not_repaired(
    keys: PostgresMemberKeys, database_url: str
) -> None:
    key = add(keys, 1)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE ssh_access.member_keys SET username = 'mallory'")
    with pytest.raises(CorruptState):
        RemoveKey(keys)(Command(uuid4(), b"r" * 32), key.member, key.key_id, NOW)
    assert keys.changes(SLURM, 0, 500).next == 1


def test_neither_role_can_do_the_others_work(
    pg_server: PgServer, database_name: str, keys: PostgresMemberKeys
) -> None:
    """The Site API cannot ask for a key or move one to another account; the operator writes no keys."""
    add(keys, 1)
    refused = {
        "pharos_site_api": [
            "UPDATE ssh_access.member_keys SET username = 'root'",
            "UPDATE ssh_access.member_keys SET act = 'absent'",
            "INSERT INTO ssh_access.changes SELECT * FROM ssh_access.changes",
            "DELETE FROM ssh_access.receipts",
            "UPDATE ssh_access.receipts SET answer = ''",
        ],
        "pharos_member_api": [
            "SELECT * FROM site_grants.grants",
            "UPDATE ssh_access.member_keys SET reported_at = now()",
            "DELETE FROM ssh_access.changes",
        ],
        "pharos_operator": [
            "UPDATE ssh_access.member_keys SET state = 'active'",
            "UPDATE ssh_access.feeds SET head = 0",
            "DELETE FROM site_grants.grants",
            "UPDATE site_grants.grants SET secret_digest = ''",
        ],
    }
    for role, statements in refused.items():
        with psycopg.connect(pg_server.role_url(role, database_name), autocommit=True) as connection:
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
