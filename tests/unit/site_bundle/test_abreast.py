"""Waits side by side: bounded, over when the work is, faults told where they can be dealt with (S10, X1)."""

from __future__ import annotations

import threading

import pytest

from site_bundle.kernel.abreast import Abreast, in_turn
from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.stop import Stop, StopRequested


def double(number: int) -> int:
    if number == 3:
        raise UnavailableError("intake_unavailable", found="status 503")
    return 2 * number


@pytest.mark.parametrize("threads", [1, 3, 50])
def test_x1_every_item_once_with_its_value_or_its_fault(threads: int) -> None:
    before = threading.active_count()
    found = dict(Abreast(threads)(double, range(20)))
    assert sorted(found) == list(range(20))
    assert [(n, got) for n, got in sorted(found.items()) if not isinstance(got, SiteError)] == [
        (n, 2 * n) for n in range(20) if n != 3
    ]
    assert isinstance(found[3], UnavailableError) and isinstance(dict(in_turn(double, [3]))[3], SiteError)
    assert threading.active_count() == before


def test_s10_as_many_at_once_as_there_are_threads() -> None:
    together = threading.Barrier(3, timeout=20)
    names = {name for _, name in Abreast(3)(lambda _: (together.wait(), threading.get_ident())[1], range(9))}
    assert len(names) == 3


def test_s8_nothing_more_is_begun_once_no_more_is_taken() -> None:
    before, begun = threading.active_count(), []
    enough = threading.Event()

    def act(number: int) -> int:
        begun.append(number)
        if number:
            enough.wait(20)
        return number

    for number, _ in Abreast(2)(act, range(100)):
        assert number == 0
        enough.set()
        break
    assert len(begun) < 100 and threading.active_count() == before


def test_x9_a_bug_in_a_thread_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(Abreast(2)(lambda number: 1 // number, [0, 1]))


def test_s10_the_request_to_end_is_not_held_up_by_a_peer() -> None:
    """Waiting ends as it does when a signal comes; the threads are left to end with the process."""
    before, blocked, stop = set(threading.enumerate()), threading.Event(), Stop()
    stop.requested = True
    with pytest.raises(StopRequested):
        list(Abreast(2, stop.interruptible)(lambda _: blocked.wait(20), range(4)))
    blocked.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)


def test_s10_another_thread_neither_opens_nor_shuts_the_main_threads_interruptible() -> None:
    stop, seen = Stop(), []

    def elsewhere() -> None:
        stop.requested = True
        with stop.interruptible():
            seen.append("waited")

    with stop.interruptible():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen == ["waited"]
    with pytest.raises(StopRequested), stop.interruptible():
        pass
