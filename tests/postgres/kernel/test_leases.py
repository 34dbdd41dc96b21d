"""Lease rows of periodic passes: one pass an interval for all replicas, fenced, missed ones counted (O3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from central.kernel.database import Database
from central.kernel.leases import Lease, Leases

NAME = "trial.pass"
LONG, NOW = timedelta(hours=1), timedelta(0)


@pytest.fixture
def leases(database: Database) -> Leases:
    return Leases(database)


def age(database: Database, seconds: float) -> None:
    """Lets the last pass have begun so long ago."""
    with database.transaction() as tx:
        tx._connection.execute(
            "UPDATE pharos.leases SET begun_at = clock_timestamp() - make_interval(secs => %s)", (seconds,)
        )


def test_o3_one_replica_of_many_gets_the_pass(leases: Leases) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: leases.take(NAME, every=NOW, hold=LONG), range(16)))
    assert [lease for lease in taken if lease] == [Lease(NAME, 1, 0)]


def test_o3_a_pass_begins_once_an_interval(leases: Leases, database: Database) -> None:
    first = leases.take(NAME, every=LONG, hold=LONG)
    assert first == Lease(NAME, 1, 0)
    leases.give_back(first)
    assert leases.take(NAME, every=LONG, hold=LONG) is None
    age(database, 3601)
    assert leases.take(NAME, every=LONG, hold=LONG) == Lease(NAME, 2, 0)


def test_o3_a_dead_holder_is_taken_over_and_fenced(leases: Leases) -> None:
    dead = leases.take(NAME, every=NOW, hold=NOW)
    assert dead is not None
    heir = leases.take(NAME, every=NOW, hold=LONG)
    assert heir == Lease(NAME, 2, 0)
    leases.give_back(dead)
    assert leases.take(NAME, every=NOW, hold=LONG) is None
    leases.give_back(heir)
    assert leases.take(NAME, every=NOW, hold=LONG) == Lease(NAME, 3, 0)


def test_o3_missed_passes_are_counted(leases: Leases, database: Database) -> None:
    minute = timedelta(minutes=1)
    for seconds, missed in ((0, 0), (61, 0), (119, 0), (181, 2), (61, 2), (601, 11)):
        if seconds:
            age(database, seconds)
        lease = leases.take(NAME, every=minute, hold=NOW)
        assert lease is not None
        assert lease.missed == missed, seconds
