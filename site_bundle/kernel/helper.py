"""A child that speaks to the world for one turn and ends with it, so that what TLS, LDAP and long answers
need of memory is not kept by a process that mostly waits (S10).

1. The child is a fork: nothing starts anew. It begins with the first act it is asked for, closes whatever is
   open (the journal and its lock are not its own), and touches nothing of the parent's. It ends when its
   parent does: its questions then come to an end.
2. Acts and answers are pickled, between this program and itself. A SiteError is raised again as it was; an
   exception of another kind is a bug: the child prints it, the parent raises.
3. One act is under way at a time. An answer nobody waited for is thrown away with the child.
4. Forking beside threads is not safe: whoever has a helper has none.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

from site_bundle.kernel.errors import SiteError, UnavailableError

_CHUNK = 64 * 1024
_SIZE = 8
_IGNORED = (signal.SIGTERM, signal.SIGINT)
Acts = Mapping[str, Callable[..., object]]


@dataclass(slots=True)
class _Child:
    """Its process, where it is asked, where it answers, and whether an answer is due."""

    pid: int
    asking: int
    answering: int
    due: bool = False


class Helper:
    """`acts`: by name. `waiting` surrounds each wait for an answer: nothing else happens inside."""

    def __init__(self, acts: Acts, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._acts = acts
        self._waiting = waiting
        self._child: _Child | None = None

    def ask(self, name: str, *given: object) -> None:
        """Has the act begun."""
        with self._waiting():  # a process that was asked to end begins nothing
            if self._child is not None and self._child.due:
                self.end()
        child = self._child = self._child or self._begin()
        raw = pickle.dumps((name, given), pickle.HIGHEST_PROTOCOL)
        try:
            _write(child.asking, raw)
        except BrokenPipeError as error:
            raise self._lost() from error
        child.due = True

    def answer(self, seconds: float) -> Any:
        """What the act answered. SiteError of the act; UnavailableError when it did not end in time."""
        child = self._child
        if child is None or not child.due:
            raise RuntimeError("nothing was asked")
        deadline = time.monotonic() + seconds
        with self._waiting():
            size = int.from_bytes(self._read(child.answering, _SIZE, deadline), "big")
            raw = self._read(child.answering, size, deadline)
        child.due = False
        found = pickle.loads(raw)  # noqa: S301 - our own child wrote it
        if isinstance(found, SiteError):
            raise found
        kind, value = found
        if kind != "value":
            raise RuntimeError(f"the helper met {value}")
        return value

    def call(self, name: str, *given: object, seconds: float) -> Any:
        """Asked and waited for."""
        self.ask(name, *given)
        return self.answer(seconds)

    def end(self) -> None:
        """Nothing of the child is left; the next act begins another."""
        child, self._child = self._child, None
        if child is None:
            return
        os.close(child.asking)
        os.close(child.answering)
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)

    def _begin(self) -> _Child:
        asked, asking = os.pipe()
        answering, answered = os.pipe()
        pid = os.fork()
        if pid == 0:
            _work(self._acts, asked, answered)
        os.close(asked)
        os.close(answered)
        return _Child(pid, asking, answering)

    def _read(self, source: int, size: int, deadline: float) -> bytes:
        parts = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(source, selectors.EVENT_READ)
            while len(parts) < size:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    self.end()
                    raise UnavailableError(
                        "helper_slow",
                        found="what is asked of other systems did not end in time",
                        wanted="their answers within the limit",
                        remedy="nothing to do here; it is tried again",
                    )
                part = os.read(source, min(_CHUNK, size - len(parts)))
                if not part:
                    raise self._lost()
                parts += part
        return bytes(parts)

    def _lost(self) -> UnavailableError:
        self.end()
        return UnavailableError(
            "helper_lost",
            found="the child that asks other systems ended before it answered",
            wanted="a child that ends when it is told to",
            remedy="look at the journal for the unit's memory limit; it is tried again",
        )


def _work(acts: Acts, asked: int, answered: int) -> NoReturn:
    """The child: it never returns into the parent's code."""
    try:
        gc.freeze()  # what was open in the parent must not be closed a second time by a destructor
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for low, high in _others(asked, answered):
            os.closerange(low, high)
        while size := int.from_bytes(_whole(asked, _SIZE), "big"):
            _write(answered, _done(acts, _whole(asked, size)))
    except BaseException:  # noqa: BLE001 - the child ends here whatever happened
        _print_bug()
    finally:
        os._exit(0)


def _done(acts: Acts, raw: bytes) -> bytes:
    try:
        name, given = pickle.loads(raw)  # noqa: S301 - our own parent wrote it
        return pickle.dumps(("value", acts[name](*given)), pickle.HIGHEST_PROTOCOL)
    except SiteError as error:
        return pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        _print_bug()
        return pickle.dumps(("bug", type(error).__name__))


def _print_bug() -> None:
    """To standard error as it is: what a test put in its place is closed."""
    with suppress(OSError):
        os.write(2, traceback.format_exc().encode())


def _others(*kept: int) -> list[tuple[int, int]]:
    """Every descriptor above the standard ones but those kept, as ranges."""
    edges = [2, *sorted(kept), 1 << 16]
    return [(low + 1, high) for low, high in pairwise(edges)]


def _write(sink: int, raw: bytes) -> None:
    left = memoryview(len(raw).to_bytes(_SIZE, "big") + raw)
    while left:
        left = left[os.write(sink, left) :]


def _whole(source: int, size: int) -> bytes:
    """So many bytes; none where the parent is gone."""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(source, min(_CHUNK, size - len(parts)))
        if not part:
            return b""
        parts += part
    return bytes(parts)
