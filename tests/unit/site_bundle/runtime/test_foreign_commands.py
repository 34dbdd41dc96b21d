"""A command of another form than this version's is refused by its name, and blocks none behind it (S1, X4,
E3).
"""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_bundle.kernel.documents import read_document
from site_bundle.kernel.stop import Stop
from site_bundle.runtime.adapters.wire_commands import CommandsBody, encode_command
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.poll_commands import PollCommands
from site_bundle.runtime.application.send_words import SendWords
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import Cancel, CleanUp
from site_bundle.runtime.domain.feed import Page
from site_bundle.runtime.domain.stage import NOT_UNDERSTOOD
from site_bundle.runtime.entrypoints.loop import Loop, LoopLimits
from tests.unit.site_bundle.runtime.scenes import NOW, command
from tests.unit.site_bundle.runtime.world import Died, World

FIRST, SECOND, THIRD = (command(number) for number in (1, 2, 3))
NAME = str(SECOND.command_id)


def row(which: Any, **changes: Any) -> dict[str, Any]:
    return dict(json.loads(encode_command(which)) | changes)


FOREIGN = row(SECOND, action={"act": "hold"})
UNDERSTOOD = row(SECOND)
NO_ACTIONS: tuple[Any, ...] = ([], 7, None, {}, {"act": []}, {"act": {}})


def page_of(rows: list[Any], after: int) -> dict[str, Any]:
    following = (
        rows[-1]["sequence"] if rows and isinstance(rows[-1], dict) and "sequence" in rows[-1] else after
    )
    named = {"schema": 1, "site": "slurm", "feed": str(UUID(int=2)), "more": False}
    return named | {"after": after, "commands": rows, "next": following}


class Central:
    """Answers every poll with the same commands, as their bytes are read."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows

    def commands(self, *, after: int, wait: int = 0, limit: int = 100) -> Page:
        rows = [row for row in self.rows if row["sequence"] > after]
        return read_document(page_of(rows, after), CommandsBody).page()

    unacknowledged = commands


def poll(world: World, *rows: dict[str, Any], observe: bool = False) -> PollCommands:
    api: Any = Central(*rows)
    return PollCommands(api, world.journal, Words(uuid4, encode_ack, encode_result), observe)


def deliver(world: World) -> list[dict[str, Any]]:
    anything: Any = world
    SendWords(anything, world.journal, anything).run()
    return [json.loads(word.body) for word in world.sent if str(word.command_id) == NAME]


@pytest.mark.parametrize(
    "strange",
    [
        FOREIGN,
        UNDERSTOOD | {"priority": 7},
        UNDERSTOOD | {"identity": None},
        *(UNDERSTOOD | {"action": action} for action in NO_ACTIONS),
        {"sequence": 2, "commandId": NAME, "attemptId": str(SECOND.attempt_id), "schema": 2},
    ],
)
def test_s1_e3_it_is_refused_by_name_and_those_behind_it_are_journalled(
    world: World, strange: dict[str, Any]
) -> None:
    polled = poll(world, row(FIRST), strange, row(THIRD)).run(wait=0, now=NOW)
    assert [stage.command for stage in world.journal.stages()] == [FIRST, THIRD]
    assert world.journal.feed_state().cursor == 3
    assert (polled.added, polled.refused) == (2, (SECOND.command_id,))
    (said,) = deliver(world)
    assert (said["outcome"], said["code"], said["jobId"]) == ("refused", NOT_UNDERSTOOD, None)
    assert said["attemptId"] == str(SECOND.attempt_id)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value inside a document, its own first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((name, *path) for name, one in inner for path in places(one))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The document with another value at that path."""
    if not path:
        return new
    head, *rest = path
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    kept = {name: put(one, tuple(rest), new) if name == head else one for name, one in pairs}
    return kept if isinstance(value, dict) else list(kept.values())


@given(st.data())
def test_x4_whatever_stands_anywhere_in_a_command_it_is_read_refused_by_name_or_refused(
    data: st.DataObject,
) -> None:
    which = data.draw(
        st.sampled_from(
            [row(FIRST), row(command(4, Cancel(UUID(int=3), "asked"))), row(command(5, CleanUp()))]
        )
    )
    path = data.draw(st.sampled_from(places(which)))
    strange = put(which, path, data.draw(JSON))
    with suppress(ValueError):
        page = read_document(page_of([strange], 0), CommandsBody).page()
        assert len(page.commands) + len(page.foreign) == 1


def test_s1_x7_refused_once_whatever_lists_it_and_the_same_bytes(world: World) -> None:
    poll(world, FOREIGN).run(wait=0, now=NOW)
    (first,) = world.journal.waiting_words(10)
    world.restart()
    assert poll(world, FOREIGN).walk(now=NOW).refused == ()
    assert world.journal.waiting_words(10) == (first,)
    deliver(world)
    poll(world, FOREIGN).walk(now=NOW)
    assert len(deliver(world)) == 1


def test_s1_a_later_version_that_understands_it_does_not_begin_what_was_refused(world: World) -> None:
    poll(world, FOREIGN).run(wait=0, now=NOW)
    world.restart()
    poll(world, UNDERSTOOD).walk(now=NOW)
    assert world.journal.stages() == ()
    world.turn()
    assert world.jobs == [] and [said["outcome"] for said in deliver(world)] == ["refused"]


def test_s1_an_earlier_version_refuses_nothing_that_was_begun(world: World) -> None:
    """The journal of a newer release, after a rollback: the job is known, and central is told of it alone."""
    world.receive(SECOND)
    world.turn()
    assert poll(world, FOREIGN).walk(now=NOW).refused == (), "nothing to log, either"
    assert [said["outcome"] for said in deliver(world)] == ["accepted"]


def test_e3_passed_and_refused_in_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the two, neither stands."""

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(type(world.journal), "_keep", die)
        with pytest.raises(Died):
            poll(world, row(FIRST), FOREIGN).run(wait=0, now=NOW)
    world.restart()
    assert world.journal.feed_state().cursor == 0 and world.journal.stages() == ()


def test_s6_observing_passes_it_without_a_word(world: World) -> None:
    poll(world, FOREIGN, row(THIRD), observe=True).run(wait=0, now=NOW)
    assert deliver(world) == [] and world.journal.feed_state().cursor == 3
    poll(world, FOREIGN, row(THIRD)).walk(now=NOW)
    assert len(deliver(world)) == 1, "once it applies, it is said"


def test_e3_the_refusal_is_sent_at_once(world: World) -> None:
    do: Any = SimpleNamespace(poll=poll(world, FOREIGN))
    loop = Loop(
        do=do, journal=world.journal, telling=MagicMock(), stop=Stop(), limits=LoopLimits(), programs=dict,
        now=lambda: NOW, monotonic=lambda: 100.0, draw=lambda: 0.5,
    )  # fmt: skip
    loop.due.send = float("inf")
    loop.due.walk = float("inf")
    loop._poll_or_wait()
    assert loop.due.send == 100.0
