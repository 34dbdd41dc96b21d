"""Long polls are woken by one LISTEN connection a worker (X13, O4, G03)."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

from central.kernel.notifications import Waiters, Watch
from tests.postgres.kernel.waiting import NEVER, until

CHANNEL = "trial_changes"
FAR = 10 * NEVER  # a deadline no test lives to see: what returns was woken


@pytest.fixture
def waiters(kernel_url: str) -> Iterator[Waiters]:
    made = Waiters(kernel_url, [CHANNEL])
    made.start()
    until(lambda: made.listening)
    yield made
    made.close()


def notify(url: str, key: str, channel: str = CHANNEL) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_notify(%s, %s)", [channel, key])


def listeners(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'pharos-listen' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


def park(waiters: Waiters, key: str, count: int) -> tuple[list[threading.Thread], list[bool]]:
    """Threads that wait for ``key`` with a deadline far away, and note what the wait said."""
    waited: list[bool] = []

    def poll() -> None:
        with waiters.watch(CHANNEL, key) as watch:
            waited.append(watch.wait(waiters.clock() + FAR))

    threads = [threading.Thread(target=poll, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    until(lambda: waiters.parked >= count)
    return threads, waited


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(NEVER)
        assert not thread.is_alive(), "still parked"


def woken(waiters: Waiters, watch: Watch) -> bool:
    deadline = waiters.clock() + NEVER
    return watch.wait(deadline) and waiters.clock() < deadline


def test_x13_72_parked_polls_hold_one_connection_and_wake_together(waiters: Waiters, kernel_url: str) -> None:
    threads, waited = park(waiters, "slurm", 72)
    assert listeners(kernel_url) == 1
    assert waited == []
    notify(kernel_url, "slurm")
    join(threads)
    assert waited == [True] * 72
    assert waiters.parked == 0


def settle(waiters: Waiters, url: str) -> None:
    """All that was notified was handed out: notifications come in order, and two later ones have come."""
    with waiters.watch(CHANNEL, "settle") as watch:
        for _ in range(2):
            notify(url, "settle")
            assert woken(waiters, watch)


def test_x13_another_sites_change_wakes_nobody(waiters: Waiters, kernel_url: str) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        notify(kernel_url, "k8s")
        settle(waiters, kernel_url)
        began = waiters.clock()
        watch.wait(began + 0.3)
        assert waiters.clock() - began >= 0.3


def test_x13_a_change_between_registering_and_waiting_is_not_missed(
    waiters: Waiters, kernel_url: str
) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        notify(kernel_url, "slurm")
        settle(waiters, kernel_url)
        assert woken(waiters, watch)


def test_x13_at_the_deadline_the_poll_reads_once_more_and_ends(waiters: Waiters) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        deadline = waiters.clock() + 0.2
        reads = 1
        while watch.wait(deadline):
            reads += 1
        assert reads == 2
        assert waiters.clock() >= deadline


def test_x13_a_poll_that_may_not_wait_ends_at_once(waiters: Waiters) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        assert not watch.wait(waiters.clock())


def test_x13_a_lost_listener_comes_back_and_wakes_everybody(waiters: Waiters, kernel_url: str) -> None:
    threads, waited = park(waiters, "slurm", 3)
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'pharos-listen' AND datname = current_database()"
        )
    join(threads)
    assert waited == [True] * 3, "what was notified meanwhile is unknown, so everybody reads again"
    until(lambda: waiters.listening)
    threads, waited = park(waiters, "slurm", 1)
    notify(kernel_url, "slurm")
    join(threads)
    assert waited == [True]


def test_g03_stopping_answers_every_parked_poll(waiters: Waiters) -> None:
    threads, waited = park(waiters, "slurm", 20)
    waiters.close()
    join(threads)
    assert len(waited) == 20
    with waiters.watch(CHANNEL, "slurm") as watch:
        assert not watch.wait(waiters.clock() + FAR)


def test_g03_closing_never_waits_for_a_database_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """It wakes the pause between two tries: after it nothing tries any more."""
    before = set(threading.enumerate())
    waiters = Waiters("postgresql://u@/x?host=/nonexistent", [CHANNEL])
    waiters.start()
    assert len(set(threading.enumerate()) - before) == 1
    until(lambda: "listen_lost" in caplog.messages)
    assert not waiters.listening
    waiters.close()
    assert set(threading.enumerate()) <= before


def test_an_unknown_channel_is_a_mistake(waiters: Waiters) -> None:
    with pytest.raises(ValueError, match="not listened to"), waiters.watch("other", "slurm"):
        pass
