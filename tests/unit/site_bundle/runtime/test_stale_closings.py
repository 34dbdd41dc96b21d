"""A cancel or a cleanup past its validity is asked about with patience, and set aside once central asks for
it no more (E2, E3, S10). An hour of a Runtime that does nothing else, by a clock of the test's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID, uuid4

import pytest

from site_bundle.kernel.stop import Stop
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.close_attempt import CloseAttempt
from site_bundle.runtime.application.poll_commands import PollCommands
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import Cancel, CleanUp, Command
from site_bundle.runtime.domain.feed import Page
from site_bundle.runtime.entrypoints.loop import Loop, LoopLimits
from tests.unit.site_bundle.runtime.scenes import NOW, command
from tests.unit.site_bundle.runtime.world import World

FEED = UUID(int=2)
STALE = [
    replace(command(1, action), valid_until=NOW + timedelta(seconds=60))
    for action in (CleanUp(), Cancel(UUID(int=3), "member_asked"))
]


@dataclass
class Hour:
    """central that answers with `feed` and lists `listed` with a new validity; the Runtime only observes."""

    world: World
    listed: tuple[Command, ...]
    feed: UUID = FEED
    clock: float = 0.0
    walks: int = 0
    polls: int = 0
    telling: MagicMock = field(default_factory=MagicMock)

    def now(self) -> datetime:
        return NOW + timedelta(seconds=120 + self.clock)

    def unacknowledged(self, *, after: int, limit: int) -> Page:
        self.walks += 1
        self.clock += 0.05
        until = self.now() + timedelta(seconds=60)
        renewed = [replace(one, valid_until=until) for one in self.listed]
        return Page("slurm", self.feed, 0, renewed, 1, False)

    def commands(self, *, after: int, wait: int, limit: int) -> Page:
        self.polls += 1
        self.clock += max(wait, 0.05)
        return Page("slurm", self.feed, after, (), max(after, 1), False)

    def run(self) -> None:
        words, nothing = Words(uuid4, encode_ack, encode_result), MagicMock()
        api: Any = self
        close = CloseAttempt(self.world.journal, nothing, nothing, words, nothing, observe=True)
        do: Any = SimpleNamespace(
            poll=PollCommands(api, self.world.journal, words), close=close, maintenance=nothing,
            begin=nothing,
            observe=SimpleNamespace(run=lambda now: SimpleNamespace(changed=0, open=0, look=None)),
            send=SimpleNamespace(run=lambda: SimpleNamespace(error=None, words=0, refused=0)),
        )  # fmt: skip
        stop: Any = Stop()
        stop.sleep = self.sleep
        loop = Loop(
            do=do, journal=self.world.journal, telling=self.telling, stop=stop, limits=LoopLimits(),
            programs=dict, now=self.now, monotonic=lambda: self.clock, draw=lambda: 0.5,
        )  # fmt: skip
        while self.clock < 3600:
            loop._cycle()

    def sleep(self, seconds: float) -> None:
        self.clock += seconds


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("stale", STALE, ids=("cleanup", "cancel"))
def test_e3_what_central_lists_no_more_is_set_aside(world: World, stale: Command) -> None:
    world.receive(stale)
    hour = Hour(world, ())
    hour.run()
    assert world.journal.closings() == ()
    assert world.journal.waiting_words(10) == (), "it was not done, and nothing is said of it"
    assert hour.walks == 1
    said = [call.args[0].aside for call in hour.telling.polled.call_args_list if call.args[0].aside]
    assert said == [(stale.command_id,)]


def test_e2_s10_what_central_still_lists_is_walked_for_seldom(world: World) -> None:
    world.receive(STALE[0])
    hour = Hour(world, (STALE[0],))
    hour.run()
    assert [one.command.command_id for one in world.journal.closings()] == [STALE[0].command_id]
    assert 30 < hour.walks < 100
    assert hour.polls < 400, "the long poll is not cut short for what only waits"


def test_e3_of_another_history_nothing_follows(world: World) -> None:
    world.receive(STALE[0])
    hour = Hour(world, (), feed=UUID(int=9))
    hour.run()
    assert [one.command.command_id for one in world.journal.closings()] == [STALE[0].command_id]
