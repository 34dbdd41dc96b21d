"""Independent waits side by side: a few threads for as long as the work lasts, none afterwards (S10).

What is done abreast only waits and computes. Whoever asks gets the outcomes one by one in its own thread, and
does there whatever is to be recorded, so nothing else need be safe for threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from site_bundle.kernel.errors import SiteError

T = TypeVar("T")
R = TypeVar("R")


def in_turn(act: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R | SiteError]]:
    """Each item with what `act` made of it, one after the other."""
    for item in items:
        try:
            found: R | SiteError = act(item)
        except SiteError as error:
            found = error
        yield item, found


class Abreast:
    """As `in_turn`, by at most `threads` threads, in the order of completion. Whoever takes no more of it
    ends it: no further item is begun, and what is under way is waited for.
    """

    def __init__(
        self, threads: int, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """`waiting` surrounds each wait for an outcome: nothing else happens inside."""
        self._threads = threads
        self._waiting = waiting

    def __call__(self, act: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R | SiteError]]:
        if len(items) < 2:
            yield from in_turn(act, items)
            return
        todo = list(reversed(items))
        done: SimpleQueue[tuple[T, R | Exception]] = SimpleQueue()
        # A process that is asked to end does not wait for a peer: what was under way is as if it was cut.
        threads = [
            Thread(target=_work, args=(act, todo, done), daemon=True)
            for _ in range(min(self._threads, len(items)))
        ]
        try:
            for thread in threads:
                thread.start()
            for _ in items:
                with self._waiting():
                    item, found = done.get()
                if isinstance(found, Exception) and not isinstance(found, SiteError):
                    raise found  # a bug, told where it can be seen
                yield item, found
        finally:
            todo.clear()
            for thread in threads:
                with self._waiting():
                    thread.join()


def _work(act: Callable[[T], R], todo: list[T], done: SimpleQueue[tuple[T, R | Exception]]) -> None:
    while todo:
        try:
            item = todo.pop()
        except IndexError:  # another thread was quicker
            return
        try:
            done.put((item, act(item)))
        except Exception as error:  # noqa: BLE001 - raised again by whoever asked
            done.put((item, error))
