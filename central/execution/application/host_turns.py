"""Each Git host's own bounded turn in a pass: what one host does not answer holds up no other (S2, X1).

1. A host is asked one thing at a time, hosts beside each other, at most `lanes` of them at once; first come
   those whose last turn is longest ago.
2. A host that is silent (`PeerSilent`) is asked nothing more in this turn, nor in turns that begin within
   `again`; what would have been asked is `silent`'s to hear of. Any other failure is of the one thing asked.
3. A turn ends after `most` questions or `turn`; the next goes on behind the last one asked, and round again,
   so that what is never answered well stands in nobody's way.
4. A turn that has not begun `whole` after the pass did is left to the next pass, which ends within its lease.
5. Who is silent since when outlives the pass, whichever replica makes the next one (O3), and is forgotten
   once it was not seen for `forget`: nobody knows what was in between. Where a turn goes on is this process's
   to know: forgotten, it begins at the first thing.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from central.execution.application.passes import Passed, Tally
from central.execution.application.ports import PeerSilent
from central.execution.application.worker_ports import Silence, Silences
from central.kernel.observability import event

_LOG: Final = logging.getLogger("central.execution")


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How many hosts are asked at once, and how many questions and how long each; when a silent one is asked
    again and forgotten; until when turns begin.
    """

    lanes: int = 8
    most: int = 100
    turn: timedelta = timedelta(seconds=30)
    again: timedelta = timedelta(minutes=1)
    forget: timedelta = timedelta(hours=1)
    whole: timedelta = timedelta(minutes=1)


LIMITS: Final = TurnLimits()


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """One thing to be asked of a host, and the Run it is for. Turns go on by `id`."""

    id: UUID
    run_id: UUID


@dataclass(frozen=True, slots=True)
class Heard:
    """What asking came to: whether the host said anything at all, and whether the Run was moved by it."""

    answered: bool
    changed: bool


@dataclass(slots=True)
class HostTurns:
    """The turns of one kind of question. One pass at a time; `ask` and `silent` are called from several
    threads, each host's from one.
    """

    silences: Silences
    limits: TurnLimits = LIMITS
    monotonic: Callable[[], float] = time.monotonic
    _places: dict[str, UUID | None] = field(default_factory=dict)
    """The last thing each host was asked, in the order of the hosts' last turns."""

    def __call__(
        self,
        wanted: Mapping[str, Sequence[Question]],
        ask: Callable[[Question], Heard],
        silent: Callable[[Question], bool],
        now: datetime,
    ) -> Passed:
        """One pass over what is wanted of each host. `silent` says whether the Run moved. `Unavailable`."""
        known = self.silences.known()
        if unseen := [host for host, silence in known.items() if now >= silence.seen + self.limits.forget]:
            self.silences.over(unseen)
            known = {host: silence for host, silence in known.items() if host not in unseen}
        self._places = {name: place for name, place in self._places.items() if name in wanted}
        waiting = deque([name for name in wanted if name not in self._places] + list(self._places))
        begun, tally = self.monotonic(), Tally()

        def take_turns() -> None:
            while waiting and self.monotonic() - begun < self.limits.whole.total_seconds():
                try:
                    host = waiting.popleft()
                except IndexError:  # another lane took the last one
                    return
                turn = _Turn(self, host, known.get(host), tally, now)
                turn(sorted(wanted[host]), ask, silent)

        _beside_each_other(take_turns, min(self.limits.lanes, len(waiting)))
        return tally.passed()

    def began(self, host: str) -> UUID | None:
        """A host's turn begins, behind this."""
        place = self._places.pop(host, None)
        self._places[host] = place
        return place

    def asked(self, host: str, thing: UUID) -> None:
        """The turn after this one goes on behind it."""
        self._places[host] = thing


@dataclass(slots=True)
class _Turn:
    """One host's turn. `silence`: as far as is known, None if it answered last."""

    turns: HostTurns
    host: str
    silence: Silence | None
    tally: Tally
    now: datetime

    def __call__(
        self,
        wanted: Sequence[Question],
        ask: Callable[[Question], Heard],
        silent: Callable[[Question], bool],
    ) -> None:
        limits, place = self.turns.limits, self.turns.began(self.host)
        ahead = [each for each in wanted if place is None or each.id > place]
        left = deque([*ahead, *wanted[: len(wanted) - len(ahead)]])
        lately = self.silence is not None and self.now < self.silence.seen + limits.again
        if lately or self._ask(left, ask):
            for each in left:
                self.tally.look(each.run_id, partial(silent, each))

    def _ask(self, left: deque[Question], ask: Callable[[Question], Heard]) -> bool:
        """Asks, and takes away what was. Whether the host fell silent: then the last one asked stays."""
        limits, monotonic = self.turns.limits, self.turns.monotonic
        ends = monotonic() + limits.turn.total_seconds()
        for _ in range(min(limits.most, len(left))):
            self.turns.asked(self.host, left[0].id)
            try:
                self.tally.look(left[0].run_id, lambda: self._heard(ask(left[0])))
            except PeerSilent as fell:
                self._fell_silent(fell)
                return True
            left.popleft()
            if monotonic() >= ends:
                break
        return False

    def _heard(self, heard: Heard) -> bool:
        if heard.answered and self.silence is not None:
            self.turns.silences.over([self.host])
            event(_LOG, "git_host_answers", host=self.host, silentSince=self.silence.since.isoformat())
            self.silence = None
        return heard.changed

    def _fell_silent(self, fell: PeerSilent) -> None:
        self.turns.silences.seen(self.host, fell.detail, self.now)
        since = self.silence.since if self.silence is not None else self.now
        event(
            _LOG,
            "git_host_silent",
            level=logging.WARNING,
            host=self.host,
            silentSince=since.isoformat(),
            code=fell.code,
            reason=fell.detail,
        )


def _beside_each_other(work: Callable[[], None], lanes: int) -> None:
    """Does `work` in so many threads; what one of them raises is raised here, once all have ended."""
    failures: list[Exception] = []

    def lane() -> None:
        try:
            work()
        except Exception as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)

    threads = [threading.Thread(target=lane, name=f"git-{each}", daemon=True) for each in range(lanes)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failures:
        raise failures[0]
