"""Long polls are woken by one LISTEN connection a worker (X13, O4, G03)."""

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from central.kernel.notifications import Waiters
from tests.postgres.kernel.waiting import until

CHANNEL = "trial_changes"


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


def park(
    waiters: Waiters, key: str, seconds: float, count: int
) -> tuple[list[threading.Thread], list[float]]:
    """Threads that wait for ``key`` and note how long they waited."""
    waited: list[float] = []

    def poll() -> None:
        with waiters.watch(CHANNEL, key) as watch:
            began = time.monotonic()
            watch.wait(began + seconds)
            waited.append(time.monotonic() - began)

    threads = [threading.Thread(target=poll, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    until(lambda: waiters.parked >= count)
    return threads, waited


def test_x13_72_parked_polls_hold_one_connection_and_wake_together(waiters: Waiters, kernel_url: str) -> None:
    threads, waited = park(waiters, "slurm", 30, 72)
    assert listeners(kernel_url) == 1
    notify(kernel_url, "slurm")
    for thread in threads:
        thread.join(5)
    assert len(waited) == 72
    assert max(waited) < 5
    assert waiters.parked == 0


def test_x13_another_sites_change_wakes_nobody(waiters: Waiters, kernel_url: str) -> None:
    threads, waited = park(waiters, "slurm", 1.0, 1)
    notify(kernel_url, "k8s")
    threads[0].join(5)
    assert waited[0] >= 0.9


def test_x13_a_change_between_registering_and_waiting_is_not_missed(
    waiters: Waiters, kernel_url: str
) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        notify(kernel_url, "slurm")
        time.sleep(0.8)
        began = time.monotonic()
        assert watch.wait(began + 10)
        assert time.monotonic() - began < 1


def test_x13_at_the_deadline_the_poll_reads_once_more_and_ends(waiters: Waiters) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        deadline = time.monotonic() + 0.2
        reads = 1
        while watch.wait(deadline):
            reads += 1
        assert reads == 2
        assert 0 <= time.monotonic() - deadline < 0.5


def test_x13_a_poll_that_may_not_wait_ends_at_once(waiters: Waiters) -> None:
    with waiters.watch(CHANNEL, "slurm") as watch:
        assert not watch.wait(time.monotonic())


def test_x13_a_lost_listener_comes_back_and_wakes_everybody(waiters: Waiters, kernel_url: str) -> None:
    threads, waited = park(waiters, "slurm", 30, 3)
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'pharos-listen' AND datname = current_database()"
        )
    for thread in threads:
        thread.join(10)
    assert len(waited) == 3, "what was notified meanwhile is unknown, so everybody reads again"
    until(lambda: waiters.listening)
    threads, waited = park(waiters, "slurm", 30, 1)
    notify(kernel_url, "slurm")
    threads[0].join(5)
    assert len(waited) == 1


def test_g03_stopping_answers_every_parked_poll_promptly(waiters: Waiters) -> None:
    threads, waited = park(waiters, "slurm", 55, 20)
    began = time.monotonic()
    waiters.close()
    for thread in threads:
        thread.join(5)
    assert len(waited) == 20
    assert time.monotonic() - began < 3
    with waiters.watch(CHANNEL, "slurm") as watch:
        assert not watch.wait(time.monotonic() + 10)


def test_g03_closing_never_waits_for_a_database_that_is_away() -> None:
    waiters = Waiters("postgresql://u@/x?host=/nonexistent", [CHANNEL])
    waiters.start()
    time.sleep(0.2)
    assert not waiters.listening
    began = time.monotonic()
    waiters.close()
    assert time.monotonic() - began < 1


def test_an_unknown_channel_is_a_mistake(waiters: Waiters) -> None:
    with pytest.raises(ValueError, match="not listened to"), waiters.watch("other", "slurm"):
        pass
