"""How a Run moves: one command a native action, once each, whatever is said twice (E3, E7, S1, S2)."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from central.execution.domain.command import Cancel, CleanUp, SiteCommand, Submit, runs_ref
from central.execution.domain.progress import (
    EXPIRED,
    Refusal,
    Step,
    StepRefused,
    acknowledge,
    begin,
    cancel,
    confirm_output,
    hold,
    record_result,
)
from central.execution.domain.run import Output, Run, RunState, StageName, Verdict, WaitReason
from tests.long import examples
from tests.unit.central.execution.settled import through
from tests.unit.central.execution.values import MEMBER, NOW, OTHER, accepted, ended, new_run, refused


def submitted_stage(step: Step) -> StageName:
    [command] = step.commands
    assert isinstance(command.action, Submit)
    return command.action.stage


def at_stage_out() -> Step:
    return through(through(new_run()))


def test_s2_each_stage_is_issued_when_the_verdict_before_it_is_in() -> None:
    first = new_run()
    assert (first.run.state, submitted_stage(first)) == (RunState.RUNNING, StageName.STAGE_IN)
    second = through(first)
    assert submitted_stage(second) is StageName.COMPUTE
    assert submitted_stage(through(second)) is StageName.STAGE_OUT


def test_s2_the_git_server_has_the_last_word() -> None:
    output = Output(runs_ref(new_run().run.run_id), "b" * 40)
    pushed = through(at_stage_out(), output=output)
    assert (pushed.run.state, pushed.commands) == (RunState.RUNNING, ())
    confirmed = confirm_output(pushed.run, output, NOW)
    assert (confirmed.run.state, confirmed.run.output) == (RunState.COMPLETED, output)
    assert isinstance(confirmed.commands[0].action, CleanUp)


@pytest.mark.parametrize("found", [None, Output("refs/heads/pharos/runs/x", "c" * 40)])
def test_s2_an_output_the_server_does_not_have_is_none(found: Output | None) -> None:
    pushed = through(at_stage_out(), output=Output("r", "b" * 40))
    contradicted = confirm_output(pushed.run, found, NOW).run
    assert (contradicted.state, contradicted.reason) == (RunState.FAILED, "output_unconfirmed")
    assert contradicted.output is None


@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        (Verdict.FAILED, RunState.FAILED, "compute_failed"),
        (Verdict.OUT_OF_MEMORY, RunState.FAILED, "compute_out_of_memory"),
        (Verdict.NODE_FAILED, RunState.FAILED, "compute_node_failed"),
        (Verdict.LOST, RunState.FAILED, "compute_lost"),
        (Verdict.TIMED_OUT, RunState.TIMED_OUT, "compute_timed_out"),
        (Verdict.CANCELLED, RunState.CANCELLED, "compute_cancelled"),
    ],
)
def test_s1_a_run_ends_with_its_stages_verdict(verdict: Verdict, state: RunState, reason: str) -> None:
    over = through(through(new_run()), verdict)
    assert (over.run.state, over.run.reason) == (state, reason)
    assert isinstance(over.commands[0].action, CleanUp)


def test_x7_what_is_said_again_moves_nothing() -> None:
    step = new_run()
    [command] = step.commands
    said, result = accepted(), ended()
    once = acknowledge(step.run, command.command_id, said, NOW)
    again = acknowledge(once.run, command.command_id, replace(said, ack_id=uuid4()), NOW)
    assert again == Step(once.run)
    done = record_result(once.run, command.command_id, result, NOW)
    repeated = record_result(done.run, command.command_id, replace(result, result_id=uuid4()), NOW)
    assert repeated == Step(done.run)


def test_e3_another_word_on_a_recorded_command_is_refused() -> None:
    step = new_run()
    [command] = step.commands
    once = acknowledge(step.run, command.command_id, accepted("1"), NOW).run
    with pytest.raises(StepRefused) as other:
        acknowledge(once, command.command_id, accepted("2"), NOW)
    done = record_result(once, command.command_id, ended(), NOW).run
    with pytest.raises(StepRefused):
        record_result(done, command.command_id, ended(Verdict.FAILED), NOW)
    assert other.value.refusal is Refusal.COMMAND_ACKNOWLEDGED


def test_e3_a_result_waits_for_its_acknowledgement_and_unknown_commands_are_unknown() -> None:
    step = new_run()
    with pytest.raises(StepRefused) as early:
        record_result(step.run, step.commands[0].command_id, ended(), NOW)
    with pytest.raises(StepRefused) as unknown:
        acknowledge(step.run, uuid4(), accepted(), NOW)
    assert (early.value.refusal, unknown.value.refusal) == (
        Refusal.COMMAND_NOT_ACKNOWLEDGED,
        Refusal.COMMAND_UNKNOWN,
    )


def test_e2_an_expired_command_is_asked_for_again_under_a_new_id() -> None:
    step = new_run()
    [old] = step.commands
    again = acknowledge(step.run, old.command_id, refused(EXPIRED), NOW)
    [new] = again.commands
    assert submitted_stage(again) is StageName.STAGE_IN
    assert new.command_id != old.command_id
    assert acknowledge(again.run, old.command_id, refused(EXPIRED), NOW) == Step(again.run)
    with pytest.raises(StepRefused):
        acknowledge(again.run, old.command_id, accepted(), NOW)


def test_e1_a_changed_identity_ends_the_run() -> None:
    step = new_run()
    over = acknowledge(step.run, step.commands[0].command_id, refused("identity_changed"), NOW)
    assert (over.run.state, over.run.reason) == (RunState.FAILED, "identity_changed")


def test_e7_cancel_asks_the_site_once_and_keeps_who_asked() -> None:
    step = new_run()
    running = acknowledge(step.run, step.commands[0].command_id, accepted(), NOW).run
    asked = cancel(running, OTHER, "wrong input", NOW)
    [command] = asked.commands
    assert isinstance(command.action, Cancel)
    assert (command.action.actor, asked.run.state) == (OTHER, RunState.CANCELLING)
    assert cancel(asked.run, MEMBER, None, NOW) == Step(asked.run)
    over = record_result(asked.run, step.commands[0].command_id, ended(Verdict.CANCELLED), NOW)
    assert (over.run.state, over.run.cancellation and over.run.cancellation.actor) == (
        RunState.CANCELLED,
        OTHER,
    )


def test_e7_a_job_that_completed_before_its_cancel_starts_no_further_stage() -> None:
    step = new_run()
    running = acknowledge(step.run, step.commands[0].command_id, accepted(), NOW).run
    asked = cancel(running, MEMBER, None, NOW)
    over = record_result(asked.run, step.commands[0].command_id, ended(), NOW)
    assert over.run.state is RunState.CANCELLED
    assert [type(each.action) for each in over.commands] == [CleanUp]


def test_e7_a_cancel_the_site_refuses_is_said_and_can_be_asked_for_again() -> None:
    step = new_run()
    named = step.commands[0].command_id
    running = acknowledge(step.run, named, accepted(), NOW).run
    asked = cancel(running, OTHER, "wrong input", NOW)
    first = asked.commands[0].command_id
    refusal = refused("command_not_understood")
    told = acknowledge(asked.run, first, refusal, NOW)
    assert (told.run.state, told.run.reason) == (RunState.CANCELLING, "command_not_understood")
    assert told.run.revision == asked.run.revision + 1
    assert told.commands == ()
    again = cancel(told.run, MEMBER, None, NOW)
    [command] = again.commands
    assert command.command_id != first
    assert (command.action, again.run.reason) == (Cancel(MEMBER, "member_asked"), None)
    assert again.run.cancellation is not None and again.run.cancellation.actor == OTHER
    assert acknowledge(again.run, first, refusal, NOW) == Step(again.run)
    assert cancel(again.run, MEMBER, None, NOW) == Step(again.run)
    heard = acknowledge(again.run, command.command_id, accepted(), NOW)
    over = record_result(heard.run, named, ended(Verdict.CANCELLED), NOW)
    assert (over.run.state, over.run.reason) == (RunState.CANCELLED, "member_asked")


def test_e7_an_ended_run_cannot_be_cancelled() -> None:
    over = through(new_run(), Verdict.FAILED).run
    with pytest.raises(StepRefused) as refusal:
        cancel(over, MEMBER, None, NOW)
    assert refusal.value.refusal is Refusal.RUN_ENDED


def test_e5_a_run_that_waits_begins_nothing_until_it_is_begun_again() -> None:
    step = new_run()
    [command] = step.commands
    submitted = acknowledge(step.run, command.command_id, accepted(), NOW).run
    held = hold(submitted, WaitReason.CONSENT_EXPIRED, NOW).run
    assert (held.state, held.reason) == (RunState.WAITING, "consent_expired")
    done = record_result(held, command.command_id, ended(), NOW)
    assert done.commands == ()
    assert submitted_stage(begin(done.run, NOW)) is StageName.COMPUTE


def test_p27_only_a_cleanup_that_is_done_releases_the_account() -> None:
    over = through(new_run(), Verdict.FAILED)
    [command] = over.commands
    with pytest.raises(StepRefused):
        record_result(over.run, command.command_id, ended(), NOW)
    begun = acknowledge(over.run, command.command_id, accepted(), NOW).run
    failed = record_result(begun, command.command_id, ended(Verdict.FAILED), NOW)
    assert (over.run.released, begun.released, failed.run.released) == (False, False, False)
    assert failed.run.cleanup and failed.run.cleanup.refusal == "cleanup_failed"
    assert record_result(failed.run, command.command_id, ended(Verdict.FAILED), NOW) == Step(failed.run)
    cleaned = record_result(begun, command.command_id, ended(), NOW).run
    assert cleaned.released
    assert acknowledge(cleaned, command.command_id, accepted(), NOW) == Step(cleaned)


ACTS: list[Callable[[Run, UUID], Step]] = [
    lambda run, command: acknowledge(run, command, accepted(), NOW),
    lambda run, command: acknowledge(run, command, refused(EXPIRED), NOW),
    lambda run, command: acknowledge(run, command, refused("partition_unknown"), NOW),
    lambda run, command: record_result(run, command, ended(), NOW),
    lambda run, command: record_result(run, command, ended(output=Output("r", "b" * 40)), NOW),
    lambda run, command: record_result(run, command, ended(Verdict.FAILED), NOW),
    lambda run, command: cancel(run, OTHER, None, NOW),
    lambda run, command: hold(run, WaitReason.SITE_MAINTENANCE, NOW),
    lambda run, command: begin(run, NOW),
    lambda run, command: confirm_output(run, Output("r", "b" * 40), NOW),
]


@pytest.mark.soak
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ACTS) - 1), st.integers(0, 30)), max_size=40))
def test_s1_whatever_is_said_in_whatever_order_each_action_is_asked_for_once(
    said: list[tuple[int, int]],
) -> None:
    step = new_run()
    run, commands = step.run, list[SiteCommand](step.commands)
    for act, which in said:
        before = run
        try:
            step = ACTS[act](run, commands[which % len(commands)].command_id)
        except StepRefused:
            continue
        run = step.run
        commands += step.commands
        assert run.revision >= before.revision
        assert not before.ended or run.state is before.state
        assert (run.identity, run.request) == (before.identity, before.request)
    assert len({each.command_id for each in commands}) == len(commands)
    stages = [each.action.stage for each in commands if isinstance(each.action, Submit)]
    assert [each for each in StageName if each in stages] == list(dict.fromkeys(stages))
    asked = run.cancellation
    cancels = [] if asked is None else [*asked.earlier, *([asked.command_id] if asked.command_id else [])]
    assert [each.command_id for each in commands if isinstance(each.action, Cancel)] == cancels
    cleanups = sum(isinstance(each.action, CleanUp) for each in commands)
    assert cleanups == (run.cleanup.issues if run.cleanup is not None else 0) and bool(cleanups) == run.ended
    outstanding = [each for each in run.attempt.stages if each.state in ("issued", "submitted")]
    assert len(outstanding) <= 1
