"""A Site that never answers, and an operator's word instead of its own (E7, P27, P28, S11)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from central.execution.application.work_items import rows_since
from central.execution.domain.attempts import as_of, retry
from central.execution.domain.progress import (
    Refusal,
    Step,
    StepRefused,
    acknowledge,
    begin,
    cancel,
    expire,
    overdue,
    record_result,
)
from central.execution.domain.run import Run, RunState, StageState, WaitReason
from central.execution.domain.settling import SETTLED, clean_up_again, settle
from central.execution.domain.words import words_of
from tests.unit.central.execution.settled import OPERATOR, SILENCE
from tests.unit.central.execution.values import NOW, OTHER, accepted, ended, new_run, refused

LATER = NOW + SILENCE


def settled(run: Run, at: datetime = LATER) -> Run:
    """The operator's word, and that it asks the Site for nothing."""
    step = settle(run, replace(OPERATOR, at=at), SILENCE)
    assert step.commands == ()
    return step.run


def refusal_of(run: Run, at: datetime = LATER) -> Refusal:
    with pytest.raises(StepRefused) as refusal:
        settled(run, at)
    return refusal.value.refusal


def cancelling() -> Step:
    """A stage is issued, the member asked for the end, the Site says nothing."""
    return cancel(new_run().run, OTHER, None, NOW)


def test_p28_an_operators_word_ends_a_run_that_its_site_never_answers() -> None:
    asked = cancelling().run
    run = settled(asked)
    assert (run.state, run.reason, run.changed_at) == (RunState.CANCELLED, SETTLED, LATER)
    assert (run.released, run.settled, run.revision) == (True, True, asked.revision + 1)
    assert run.cleanup is not None
    assert run.cleanup.settlement == replace(OPERATOR, at=LATER)
    assert run.cancellation is not None
    assert run.cancellation.actor == OTHER, "who asked for the end stays known"
    [item] = rows_since(run, asked.revision)
    assert (item.released, item.revision) == (True, run.revision), "the release is said to the others (P27)"
    assert words_of(run.reason) is not None


def test_p28_it_ends_as_it_was_asked_to_end() -> None:
    first = new_run().run
    passed = expire(first, first.request.deadline).run
    assert settled(passed, passed.changed_at + SILENCE).state is RunState.TIMED_OUT
    held = replace(
        first, state=RunState.WAITING, reason=WaitReason.ACCOUNT_AWAITING_SITE.value, waits_since=NOW
    )
    unconfirmed = overdue(held, timedelta(0), NOW).run
    assert unconfirmed.state is RunState.CANCELLING
    assert settled(unconfirmed).state is RunState.FAILED


def test_p28_the_site_is_awaited_first_and_a_word_of_it_counts_from_then() -> None:
    asked = cancelling()
    assert refusal_of(asked.run, LATER - timedelta(microseconds=1)) is Refusal.SITE_AWAITED
    [submitted] = new_run().commands
    told = acknowledge(asked.run, submitted.command_id, accepted(), NOW + timedelta(minutes=1)).run
    assert refusal_of(told) is Refusal.SITE_AWAITED
    assert settled(told, LATER + timedelta(minutes=1)).released
    [cancelled] = asked.commands
    reached = acknowledge(asked.run, cancelled.command_id, accepted(), NOW + timedelta(minutes=1)).run
    assert settled(reached).released, "that the cancel reached it is no word about the stage"


def test_p28_a_run_whose_end_nobody_asked_for_is_not_settled() -> None:
    live = new_run().run
    assert refusal_of(live, NOW + timedelta(days=365)) is Refusal.CLEANUP_NOT_REFUSED
    [submitted] = new_run().commands
    runs = acknowledge(live, submitted.command_id, accepted(), NOW).run
    assert refusal_of(runs, NOW + timedelta(days=365)) is Refusal.CLEANUP_NOT_REFUSED


@pytest.mark.parametrize("began", [False, True])
def test_e3_a_late_word_of_the_site_moves_nothing(began: bool) -> None:
    [submitted] = new_run().commands
    asked = cancelling()
    [cancelled] = asked.commands
    before = asked.run
    if began:
        before = acknowledge(before, submitted.command_id, accepted(), NOW).run
    run = settled(before)
    late = [acknowledge(run, submitted.command_id, accepted(), LATER)] if not began else []
    late += [acknowledge(run, submitted.command_id, refused("command_expired"), LATER)] if not began else []
    late += [
        acknowledge(run, cancelled.command_id, accepted(), LATER),
        record_result(run, submitted.command_id, ended(), LATER),
        begin(run, LATER),
        expire(run, run.request.deadline),
    ]
    assert all(step.run is run and step.commands == () for step in late)
    with pytest.raises(StepRefused):
        cancel(run, OTHER, None, LATER)
    with pytest.raises(StepRefused):
        clean_up_again(run, OTHER, LATER)
    assert refusal_of(run, LATER) is Refusal.CLEANUP_SETTLED


def test_e1_a_settled_run_may_be_tried_again_and_its_first_attempt_stays_settled() -> None:
    [submitted] = new_run().commands
    run = settled(cancelling().run)
    again = retry(run, OTHER, LATER).run
    assert (again.state, again.attempt.number) == (RunState.RUNNING, 2)
    then = as_of(again, run.attempt.attempt_id)
    assert then is not None
    assert acknowledge(then, submitted.command_id, accepted(), LATER).run is then
    assert then.attempt.stages[0].state is StageState.ISSUED
