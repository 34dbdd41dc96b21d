"""The Runtime's loop: many stages to begin, or an owner that hangs, keep no cancel waiting (S1, E7, X1)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.stop import Stop
from site_bundle.runtime.domain.command import Cancel
from site_bundle.runtime.entrypoints.loop import Loop, LoopLimits
from tests.unit.site_bundle.runtime.scenes import NOW, command
from tests.unit.site_bundle.runtime.world import World

LIMITS = LoopLimits(begin_seconds=15.0)
STAGES = [command(number) for number in range(1, 6)]


class Hung:
    """An owner that says nothing for `seconds`; what was tried, and the clock it was tried by."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.clock = seconds, 0.0
        self.tried: list[UUID] = []

    def run(self, stage: Any, **_: Any) -> Any:
        self.clock += self.seconds
        self.tried.append(stage.command.command_id)
        raise UnavailableError("slurm_timeout", found="sacctmgr did not end in time")


def looped(world: World, begin: Hung, closed: list[float]) -> Loop:
    def close(*_: Any, **__: Any) -> bool:
        closed.append(begin.clock)
        return True

    do: Any = SimpleNamespace(begin=begin, close=SimpleNamespace(run=close))
    return Loop(
        do=do, journal=world.journal, telling=MagicMock(), stop=Stop(), limits=LIMITS,
        programs=dict, now=lambda: NOW, monotonic=lambda: begin.clock, draw=lambda: 0.5,
    )  # fmt: skip


def test_e7_x1_owner_that_hangs_keeps_no_cancel_waiting(world: World) -> None:
    """Each stage would take a minute: the cancel comes after one of them, not after all."""
    cancel = command(9, Cancel(UUID(int=1), "member_asked"))
    world.receive(*STAGES, cancel)
    begin, closed = Hung(60.0), list[float]()
    loop = looped(world, begin, closed)
    loop._begin_turn()
    loop._close_turn()
    assert closed == [60.0] and begin.tried == [STAGES[0].command_id]
    assert loop._next_work() <= begin.clock, "the others are due at once"


def test_x1_owner_that_answers_is_asked_for_all(world: World) -> None:
    world.receive(*STAGES)
    begin = Hung(0.1)
    looped(world, begin, [])._begin_turn()
    assert begin.tried == [each.command_id for each in STAGES]


def test_s15_taking_work_again_begins_what_waited_at_once(world: World) -> None:
    begin = Hung(0.0)
    loop = looped(world, begin, [])
    world.receive(*STAGES)
    world.journal.put_statement(b"{}", draining=True)
    loop._begin_turn()
    loop._begin_turn()
    assert len(begin.tried) == len(STAGES), "each waits its time"
    world.journal.put_statement(b"{}", draining=False)
    loop._begin_turn()
    assert len(begin.tried) == 2 * len(STAGES)
