"""Each Git host's own turn in a pass (S2, X1, O3)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from central.execution.adapters import exchange, git_refs
from central.execution.application.host_turns import LIMITS, Heard, Question, TurnLimits
from central.execution.application.passes import Passed
from central.execution.application.worker_ports import Silence
from central.kernel.errors import CorruptState, Unavailable
from central.processes.execution_worker import HOLD
from tests.unit.central.execution.hosts import SILENT, Hosts, questions

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_x1_a_silent_host_ends_its_turn_and_everything_it_was_to_be_asked_is_told() -> None:
    one, hosts = questions(0, 50), Hosts()
    hosts.silent = {one[3]}
    turns = hosts.turns()
    assert turns({"one": one}, hosts.ask, hosts.tell, NOW) == Passed(51, 3 + 47, 1)
    assert (hosts.asked, hosts.told) == (one[:4], one[3:])
    assert hosts.silences.hosts == {"one": Silence(NOW, NOW)}
    turns({"one": one}, hosts.ask, hosts.tell, NOW + LIMITS.again - SECOND)
    assert len(hosts.asked) == 4, "silent just now"
    hosts.silent = set()
    turns({"one": one}, hosts.ask, hosts.tell, NOW + LIMITS.again)
    assert hosts.asked[4:] == [*one[4:], *one[:4]], "on behind the last one asked, and round again"
    assert hosts.silences.hosts == {}


def test_x1_a_host_that_never_answers_holds_up_no_other() -> None:
    """The silent host answers nothing until every other one is done: in one lane this would never end."""
    silent, live, hosts = questions(0, 50), questions(100, 5), Hosts()
    others = threading.Event()

    def ask(question: Question) -> Heard:
        hosts.asked.append(question)
        if question in silent:
            assert others.wait(30), "the live host's turn waited for the silent one"
            raise SILENT
        if set(live) <= set(hosts.asked):
            others.set()
        return Heard(True, True)

    hosts.turns()({"a.silent": silent, "live": live}, ask, hosts.tell, NOW)
    assert (set(hosts.asked), hosts.told) == ({silent[0], *live}, silent)


def test_o3_another_replica_knows_who_is_silent_since_when() -> None:
    one, hosts = questions(0, 5), Hosts()
    hosts.silent = set(one)
    hosts.turns()({"one": one}, hosts.ask, hosts.tell, NOW)
    hosts.turns()({"one": one}, hosts.ask, hosts.tell, NOW + SECOND)
    assert (len(hosts.asked), len(hosts.told)) == (1, 10)
    later = NOW + LIMITS.again
    hosts.turns()({"one": one}, hosts.ask, hosts.tell, later)
    assert hosts.silences.hosts == {"one": Silence(NOW, later)}
    hosts.turns()({}, hosts.ask, hosts.tell, later + LIMITS.forget - SECOND)
    assert hosts.silences.hosts == {"one": Silence(NOW, later)}, "nothing was asked: that is no answer"
    again = later + LIMITS.forget
    hosts.turns()({"one": one}, hosts.ask, hosts.tell, again)
    assert hosts.silences.hosts == {"one": Silence(again, again)}, "nobody knows what was in between"


def test_x1_what_says_nothing_of_the_host_ends_no_silence() -> None:
    one, hosts = questions(0, 2), Hosts()
    hosts.silent = {one[0]}
    turns = hosts.turns()
    turns({"one": one}, hosts.ask, hosts.tell, NOW)
    hosts.silent, hosts.mute = set(), set(one)
    turns({"one": one}, hosts.ask, hosts.tell, NOW + LIMITS.again)
    assert hosts.silences.hosts == {"one": Silence(NOW, NOW)}


def test_x1_a_question_that_is_never_answered_well_stands_in_no_others_way() -> None:
    """The first of three makes the host silent each time it is asked, as a repository too large to list."""
    one, hosts = questions(0, 3), Hosts()
    hosts.silent = {one[0]}
    turns = hosts.turns()
    for minute in range(2):
        turns({"one": one}, hosts.ask, hosts.tell, NOW + minute * LIMITS.again)
    assert hosts.asked == [one[0], one[1], one[2], one[0]]


@pytest.mark.parametrize(
    ("limits", "asked"),
    [(TurnLimits(most=7), 7), (TurnLimits(turn=timedelta(seconds=5)), 5)],
    ids=["questions", "seconds"],
)
def test_s2_a_turn_is_bounded_and_the_next_goes_on(limits: TurnLimits, asked: int) -> None:
    one, hosts = questions(0, 12), Hosts(seconds=1.0)
    turns = hosts.turns(limits)
    turns({"one": one}, hosts.ask, hosts.tell, NOW)
    assert (hosts.asked, hosts.told) == (one[:asked], [])
    turns({"one": one}, hosts.ask, hosts.tell, NOW)
    assert hosts.asked[asked] == one[asked]


def test_o3_a_pass_begins_no_turn_after_its_time_and_the_next_begins_with_those_left_out() -> None:
    first, second, hosts = questions(0, 1), questions(10, 1), Hosts(seconds=60.0)
    turns = hosts.turns(TurnLimits(lanes=1))
    wanted = {"a": first, "b": second}
    for asked in (first, second, first):
        hosts.asked.clear()
        turns(wanted, hosts.ask, hosts.tell, NOW)
        assert hosts.asked == asked


def test_o3_a_pass_ends_within_its_lease() -> None:
    """A turn begun at the last moment, and its last question too: a credential is asked for, then the ref."""
    longest = sum(each.timeout + 2 * each.whole + each.timeout for each in (exchange.LIMITS, git_refs.LIMITS))
    assert LIMITS.whole + LIMITS.turn + timedelta(seconds=longest) < HOLD


@pytest.mark.parametrize("failure", [Unavailable("unavailable", "a 503"), CorruptState("two rows")])
def test_x1_what_is_no_silence_is_of_the_one_thing_asked(failure: Exception) -> None:
    one, hosts = questions(0, 3), Hosts()

    def ask(question: Question) -> Heard:
        heard = hosts.ask(question)
        if question == one[1]:
            raise failure
        return heard

    assert hosts.turns()({"one": one}, ask, hosts.tell, NOW) == Passed(3, 2, 1)
    assert (hosts.asked, hosts.silences.hosts) == (one, {})


def test_what_nobody_foresaw_ends_the_pass_where_it_was_begun() -> None:
    def ask(_question: Question) -> Heard:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Hosts().turns()({"one": questions(0, 2)}, ask, Hosts().tell, NOW)
