"""A Run tried again: as the same account, in an attempt of its own, once the last one is settled (E1, E7)."""

from __future__ import annotations

from uuid import UUID

import pytest

from central.execution.application.work_items import (
    encode_event,
    encode_item,
    message_id_of,
    row_of,
    rows_since,
)
from central.execution.domain.attempts import ATTEMPTS_MAX, as_of, retry
from central.execution.domain.command import CleanUp, Submit, credential_id
from central.execution.domain.progress import (
    Refusal,
    Step,
    StepRefused,
    acknowledge,
    cancel,
    record_result,
)
from central.execution.domain.run import Run, RunState, StageName, StageState, Verdict, WaitReason
from central.execution.domain.settling import clean_up_again, settle
from central.kernel.strict_json import MAX_INTEGER
from tests.unit.central.execution.settled import OPERATOR, SILENCE, cleaned, failed, settled_run, through
from tests.unit.central.execution.values import MEMBER, NOW, OTHER, accepted, ended, new_run, refused


def refusal_of(run: Run) -> Refusal:
    with pytest.raises(StepRefused) as refusal:
        retry(run, OTHER, NOW)
    return refusal.value.refusal


def test_e1_a_retry_keeps_request_allocation_and_identity_and_begins_anew() -> None:
    before = settled_run()
    step = retry(before, OTHER, NOW)
    run = step.run
    assert (run.identity, run.request, run.allocation_id) == (
        before.identity,
        before.request,
        before.allocation_id,
    )
    assert (run.state, run.created_by, run.revision) == (RunState.RUNNING, MEMBER, before.revision + 1)
    assert [each.number for each in run.attempts] == [1, 2]
    assert (run.attempt.asked_by, run.attempt.asked_at) == (OTHER, NOW)
    assert (run.cleanup, run.cancellation, run.output) == (None, None, None)
    [command] = step.commands
    assert isinstance(command.action, Submit)
    assert (command.action.stage, command.attempt.attempt_id) == (StageName.STAGE_IN, run.attempt.attempt_id)


def test_e1_workspace_commands_and_credentials_of_an_attempt_are_its_own() -> None:
    first = new_run()
    again = retry(settled_run(), OTHER, NOW)
    assert first.run.attempt.attempt_id != again.run.attempt.attempt_id
    assert first.commands[0].command_id != again.commands[0].command_id
    assert credential_id(first.run, "stage-in") != credential_id(again.run, "stage-in")


def test_s1_nothing_is_tried_again_before_the_last_attempt_is_settled() -> None:
    step = new_run()
    assert refusal_of(step.run) is Refusal.ATTEMPT_UNSETTLED
    over = failed(step)
    assert refusal_of(over.run) is Refusal.ATTEMPT_UNSETTLED
    begun = acknowledge(over.run, over.commands[0].command_id, accepted(), NOW).run
    assert refusal_of(begun) is Refusal.ATTEMPT_UNSETTLED
    assert retry(record_result(begun, over.commands[0].command_id, ended(), NOW).run, OTHER, NOW).commands


def test_s1_a_cancel_the_site_has_not_answered_is_not_settled() -> None:
    step = new_run()
    [submit] = step.commands
    running = acknowledge(step.run, submit.command_id, accepted(), NOW).run
    asked = cancel(running, OTHER, None, NOW)
    over = record_result(asked.run, submit.command_id, ended(Verdict.CANCELLED), NOW)
    clean = cleaned(over)
    assert clean.released
    assert refusal_of(clean) is Refusal.ATTEMPT_UNSETTLED
    told = acknowledge(clean, asked.commands[0].command_id, accepted(), NOW).run
    assert retry(told, OTHER, NOW).run.attempt.number == 2


def test_e1_a_completed_run_is_not_tried_again_and_there_are_ten_attempts_at_most() -> None:
    completed = cleaned(through(through(through(new_run()))))
    assert (completed.state, refusal_of(completed)) == (RunState.COMPLETED, Refusal.RUN_COMPLETED)
    run = settled_run()
    for _ in range(ATTEMPTS_MAX - 1):
        run = cleaned(failed(retry(run, OTHER, NOW)))
    assert (run.attempt.number, refusal_of(run)) == (ATTEMPTS_MAX, Refusal.ATTEMPT_LIMIT)


def test_s15_a_retry_during_maintenance_waits_with_its_first_stage() -> None:
    step = retry(settled_run(), OTHER, NOW, held=WaitReason.SITE_MAINTENANCE)
    assert (step.run.state, step.run.reason, step.commands) == (RunState.WAITING, "site_maintenance", ())
    assert step.run.waits_since == NOW


def test_x7_what_is_said_again_of_an_earlier_attempt_moves_nothing() -> None:
    first = new_run()
    [submit] = first.commands
    over = failed(first)
    run = retry(cleaned(over), OTHER, NOW).run
    then = as_of(run, first.run.attempt.attempt_id)
    assert then is not None
    assert (then.state, then.reason) == (RunState.FAILED, "stage_in_failed")
    assert acknowledge(then, submit.command_id, accepted(), NOW) == Step(then)
    assert record_result(then, submit.command_id, ended(Verdict.FAILED), NOW) == Step(then)
    assert record_result(then, over.commands[0].command_id, ended(), NOW) == Step(then)
    with pytest.raises(StepRefused):
        acknowledge(then, submit.command_id, accepted("77"), NOW)
    assert as_of(run, run.attempt.attempt_id) is run
    assert as_of(run, UUID(int=MAX_INTEGER)) is None


def test_p27_a_release_is_final_so_a_retry_is_another_item() -> None:
    before = settled_run()
    run = retry(before, OTHER, NOW).run
    first, second = row_of(before), row_of(run)
    assert (first.item_id, first.released) == (run.run_id, True)
    assert (second.item_id, second.released) == (run.attempt.attempt_id, False)
    assert rows_since(run, before.revision) == [second]
    late, latest = rows_since(run, before.revision - 1)
    assert (encode_item(late), message_id_of(late)) == (encode_item(first), message_id_of(first))
    assert latest == second
    assert encode_event(late, NOW) != encode_event(latest, NOW)


def test_p28_a_refused_cleanup_says_why_and_is_asked_for_again() -> None:
    over = failed(new_run())
    [command] = over.commands
    kept = acknowledge(over.run, command.command_id, refused("scratch_unavailable"), NOW).run
    assert kept.cleanup is not None
    assert (kept.cleanup.refusal, kept.released) == ("scratch_unavailable", False)
    again = clean_up_again(kept, OTHER, NOW)
    [asked] = again.commands
    assert isinstance(asked.action, CleanUp)
    assert (asked.command_id != command.command_id, again.run.cleanup and again.run.cleanup.actor) == (
        True,
        OTHER,
    )
    assert acknowledge(again.run, command.command_id, refused("scratch_unavailable"), NOW).run is again.run
    assert cleaned(again).settled


def test_p28_a_cleanup_that_runs_out_is_asked_for_again_a_few_times() -> None:
    step = failed(new_run())
    for _ in range(3):
        step = acknowledge(step.run, step.commands[0].command_id, refused("command_expired"), NOW)
        assert len(step.commands) == 1
    last = acknowledge(step.run, step.commands[0].command_id, refused("command_expired"), NOW)
    assert last.commands == ()
    assert last.run.cleanup and last.run.cleanup.refusal == "command_expired"


def test_p28_an_operators_word_releases_the_account_with_name_and_reason() -> None:
    over = failed(new_run())
    done = settle(over.run, OPERATOR, SILENCE).run
    assert (done.released, done.settled, done.cleanup and done.cleanup.settlement) == (True, True, OPERATOR)
    for run, why in ((done, Refusal.CLEANUP_SETTLED), (new_run().run, Refusal.CLEANUP_NOT_REFUSED)):
        with pytest.raises(StepRefused) as refusal:
            settle(run, OPERATOR, SILENCE)
        assert refusal.value.refusal is why
    with pytest.raises(StepRefused) as unasked:
        clean_up_again(over.run, OTHER, NOW)
    assert unasked.value.refusal is Refusal.CLEANUP_NOT_REFUSED
    late = record_result(done, over.commands[0].command_id, ended(), NOW)
    assert late.run is done


def test_s1_every_stage_of_a_retry_is_new() -> None:
    run = retry(settled_run(), OTHER, NOW).run
    assert [each.state for each in run.attempt.stages] == [
        StageState.ISSUED,
        StageState.WAITING,
        StageState.WAITING,
    ]
