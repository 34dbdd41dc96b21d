"""Work whose memory is not kept: a child of this process does it, tells the result and ends (S10).

1. The child is a fork, so nothing starts anew; it holds a copy of everything and must touch nothing that is
   shared by what it is: no journal, no kept connection, no status. It ends without any of the parent's own
   endings.
2. What it tells are plain values (marshal): None, numbers, texts, bytes, tuples, lists, dicts.
3. A SiteError is raised again as one of the same kind. An exception of another kind is a bug: the child
   prints it, the parent raises.
4. Forking beside threads is not safe; whoever begins work apart has none (`kernel.abreast` keeps none).
"""

from __future__ import annotations

import marshal
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NoReturn

from site_bundle.kernel.errors import RefusedError, SiteError, UnavailableError

_CHUNK = 64 * 1024
_KINDS: tuple[type[SiteError], ...] = (UnavailableError, RefusedError, SiteError)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)


class Apart:
    """Work on its way in a child. `result` waits for it; `end` ends it whatever it does."""

    def __init__(self, child: int, told: int, waiting: Callable[[], AbstractContextManager[None]]) -> None:
        self._child = child
        self._told = told
        self._waiting = waiting

    def result(self, seconds: float) -> Any:
        """What the work told. SiteError is the work's own; UnavailableError when it did not end in time."""
        raw = self._read(time.monotonic() + seconds)
        if not raw:
            raise RuntimeError("a child ended without a word")
        kind, *told = marshal.loads(raw)  # noqa: S302 - our own child wrote it
        if kind == "value":
            return told[0]
        if kind == "bug":
            raise RuntimeError(f"a child met {told[0]}")
        code, found, wanted, remedy = told
        raise _KINDS[kind](code, found=found, wanted=wanted, remedy=remedy)

    def end(self) -> None:
        """Nothing of the child is left afterwards."""
        os.close(self._told)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)

    def _read(self, deadline: float) -> bytes:
        parts: list[bytes] = []
        with self._waiting(), selectors.DefaultSelector() as ready:
            ready.register(self._told, selectors.EVENT_READ)
            while True:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise UnavailableError(
                        "work_slow",
                        found="what a pass reads apart did not end in time",
                        wanted="an answer within the limit",
                        remedy="look at who is read there; it is tried again",
                    )
                part = os.read(self._told, _CHUNK)
                if not part:
                    return b"".join(parts)
                parts.append(part)


@contextmanager
def apart(
    act: Callable[[], object], waiting: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Apart]:
    """Begins `act` in a child, which is gone when the block ends. `waiting` surrounds the wait for it."""
    told, telling = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        _work(act, telling)
    os.close(telling)
    work = Apart(child, told, waiting)
    try:
        yield work
    finally:
        work.end()


def _work(act: Callable[[], object], telling: int) -> NoReturn:
    """The child: it never returns into the parent's code."""
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        try:
            told: Any = ("value", act())
        except SiteError as error:
            kind = next(place for place, one in enumerate(_KINDS) if isinstance(error, one))
            told = (kind, error.code, error.found, error.wanted, error.remedy)
        raw = marshal.dumps(told)
    except BaseException as error:  # noqa: BLE001 - the child ends here whatever happened
        traceback.print_exc()
        sys.stderr.flush()
        raw = marshal.dumps(("bug", type(error).__name__))
    with suppress(OSError):
        while raw:
            raw = raw[os.write(telling, raw) :]
    os._exit(0)
