"""What holds a Run, what lets it go on, and when it ends by itself (E2, E4, E5, P27, S15)."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from central.execution.domain.accept import accept
from central.execution.domain.command import Cancel, Submit
from central.execution.domain.maintenance import Statement, in_force
from central.execution.domain.progress import (
    EXPIRED,
    REISSUED_AT_ONCE,
    acknowledge,
    begin,
    cancel,
    confirm_output,
    expire,
    hold,
    overdue,
    record_result,
)
from central.execution.domain.run import EndCause, Output, Run, RunState, StageState, Verdict, WaitReason
from central.execution.domain.waiting import (
    REPOSITORY_AGAIN,
    Circumstances,
    next_stage,
    reason_of,
    reconsider,
)
from central.execution.domain.words import ENDS, WAITS, words_of
from tests.unit.central.execution.settled import through
from tests.unit.central.execution.values import (
    IDENTITY,
    MEMBER,
    NOW,
    REQUEST,
    accepted,
    ended,
    new_run,
    refused,
)

FINE = Circumstances(maintenance=False, suspended=False, allowed=True, confirmed=True, consent=True)
WRONG = {
    WaitReason.SITE_MAINTENANCE: replace(FINE, maintenance=True),
    WaitReason.RESOURCE_SUSPENDED: replace(FINE, suspended=True),
    WaitReason.AUTHORITY_REFUSED: replace(FINE, allowed=False),
    WaitReason.ACCOUNT_AWAITING_SITE: replace(FINE, confirmed=False),
    WaitReason.CONSENT_EXPIRED: replace(FINE, consent=False),
}
LATE = REQUEST.deadline + timedelta(seconds=1)


def current(run: Run) -> UUID:
    """The command of the stage at hand."""
    stage = next(each for each in run.attempt.stages if each.state is not StageState.DONE)
    assert stage.command_id is not None
    return stage.command_id


def submitted() -> Run:
    run = new_run().run
    return acknowledge(run, current(run), accepted(), NOW).run


@pytest.mark.parametrize("reason", WRONG)
def test_e4_a_run_waits_with_the_reason_and_goes_on_without_it(reason: WaitReason) -> None:
    run = new_run().run
    held = reconsider(run, WRONG[reason], NOW)
    assert (held.run.state, held.run.reason, held.commands) == (RunState.WAITING, reason.value, ())
    assert reconsider(held.run, WRONG[reason], NOW).run is held.run
    freed = reconsider(held.run, FINE, NOW)
    assert (freed.run.state, freed.run.reason) == (RunState.RUNNING, None)
    assert freed.commands == (), "its command is still there, unacknowledged"
    assert reconsider(freed.run, FINE, NOW).run is freed.run


def test_e4_what_the_member_cannot_end_is_told_first() -> None:
    everything = Circumstances(
        maintenance=True, suspended=True, allowed=False, confirmed=False, consent=False
    )
    assert reason_of(everything) is WaitReason.SITE_MAINTENANCE
    assert reason_of(replace(everything, maintenance=False)) is WaitReason.RESOURCE_SUSPENDED
    assert reason_of(FINE) is None


def test_s15_what_runs_runs_on() -> None:
    run = submitted()
    assert next_stage(run) is None
    assert reconsider(run, WRONG[WaitReason.SITE_MAINTENANCE], NOW).run is run
    following = record_result(run, current(run), ended(), NOW)
    assert [type(each.action) for each in following.commands] == [Submit]


def test_s15_a_run_accepted_while_it_is_held_has_its_first_command_later() -> None:
    step = accept(
        uuid4(),
        REQUEST,
        UUID(int=40),
        identity=IDENTITY,
        member=MEMBER,
        now=NOW,
        held=WaitReason.SITE_MAINTENANCE,
    )
    assert (step.run.state, step.run.revision, step.commands) == (RunState.WAITING, 1, ())
    begun = reconsider(step.run, FINE, NOW)
    assert [type(each.action) for each in begun.commands] == [Submit]


@pytest.mark.parametrize(
    ("draining", "until", "expected"),
    [(False, None, False), (True, None, True), (True, 60, True), (True, 0, False), (True, -60, False)],
)
def test_s15_a_statement_is_in_force_until_its_end(draining: bool, until: int | None, expected: bool) -> None:
    end = None if until is None else NOW + timedelta(seconds=until)
    said = Statement(uuid4(), NOW, draining, end, "upgrade" if draining else None)
    assert in_force(said, NOW) is expected
    assert in_force(None, NOW) is False


def test_e2_an_expired_command_is_asked_for_again_a_few_times_and_then_by_the_worker() -> None:
    run, seen = new_run().run, set[UUID]()
    for _ in range(REISSUED_AT_ONCE):
        seen.add(current(run))
        again = acknowledge(run, current(run), refused(EXPIRED), NOW)
        assert len(again.commands) == 1
        run = again.run
    last = acknowledge(run, current(run), refused(EXPIRED), NOW)
    assert (last.commands, next_stage(last.run) is not None) == ((), True)
    later = reconsider(last.run, FINE, NOW)
    assert len(later.commands) == 1
    assert later.commands[0].command_id not in seen


def test_e2_an_expired_command_of_a_run_that_waits_is_left_to_the_worker() -> None:
    held = reconsider(new_run().run, WRONG[WaitReason.CONSENT_EXPIRED], NOW).run
    after = acknowledge(held, current(held), refused(EXPIRED), NOW)
    assert (after.commands, after.run.state) == ((), RunState.WAITING)
    assert len(reconsider(after.run, FINE, NOW).commands) == 1


def test_p27_a_deadline_ends_a_run_and_cancels_its_job() -> None:
    run = submitted()
    assert expire(run, NOW).run is run
    asked = expire(run, LATE)
    [command] = asked.commands
    assert isinstance(command.action, Cancel)
    assert (command.action.actor, command.action.reason) == (MEMBER, "deadline_passed")
    assert expire(asked.run, LATE).run is asked.run
    over = record_result(asked.run, current(run), ended(Verdict.CANCELLED), LATE)
    assert (over.run.state, over.run.reason) == (RunState.TIMED_OUT, "deadline_passed")
    assert over.run.released is False, "only its cleanup releases the account"


def test_p27_a_run_that_never_began_ends_at_once_and_is_released() -> None:
    step = accept(
        uuid4(),
        REQUEST,
        UUID(int=40),
        identity=IDENTITY,
        member=MEMBER,
        now=NOW,
        held=WaitReason.SITE_MAINTENANCE,
    )
    over = expire(step.run, LATE)
    assert (over.run.state, over.commands, over.run.released) == (RunState.TIMED_OUT, (), True)


def test_p27_a_member_that_asked_first_is_who_ended_it() -> None:
    asked = cancel(submitted(), MEMBER, "enough", NOW).run
    assert expire(asked, LATE).run is asked
    assert asked.cancellation is not None
    assert asked.cancellation.cause is EndCause.MEMBER_ASKED


def test_s2_a_run_that_only_awaits_the_git_hosts_word_kept_its_deadline() -> None:
    run = submitted()
    for _ in range(2):
        run = record_result(run, current(run), ended(), NOW).run
        run = acknowledge(run, current(run), accepted(), NOW).run
    output = Output("refs/heads/pharos/runs/x", "a" * 40)
    run = record_result(run, current(run), ended(output=output), NOW).run
    assert expire(run, LATE).run is run


PATIENCE = timedelta(days=7)


@pytest.mark.parametrize("reason", [WaitReason.REPOSITORY_UNKNOWN, WaitReason.REPOSITORY_REFUSED])
def test_s2_a_repository_that_is_refused_is_asked_for_again_while_the_run_waits(reason: WaitReason) -> None:
    run = new_run().run
    held = hold(run, reason, NOW).run
    assert (held.state, held.reason, held.waits_since) == (RunState.WAITING, reason.value, NOW)
    assert reconsider(held, FINE, NOW + REPOSITORY_AGAIN).run is held, "its command is still there"
    lapsed = acknowledge(held, current(held), refused(EXPIRED), NOW).run
    assert reconsider(lapsed, FINE, NOW).run is lapsed
    again = reconsider(lapsed, FINE, NOW + REPOSITORY_AGAIN)
    assert (again.run.state, again.run.reason, len(again.commands)) == (RunState.WAITING, reason.value, 1)
    assert again.run.waits_since == NOW
    gone_on = begin(again.run, NOW).run
    assert (gone_on.state, gone_on.reason, gone_on.waits_since) == (RunState.RUNNING, None, None)


def test_e1_a_run_whose_account_nobody_confirms_ends_failed_and_says_so() -> None:
    held = hold(new_run().run, WaitReason.ACCOUNT_AWAITING_SITE, NOW).run
    assert overdue(held, PATIENCE, NOW + PATIENCE - timedelta(seconds=1)).run is held
    asked = overdue(held, PATIENCE, NOW + PATIENCE)
    assert asked.run.state is RunState.CANCELLING, "its command may be begun just now: the Site is asked"
    over = acknowledge(asked.run, current(asked.run), refused(EXPIRED), NOW).run
    assert (over.state, over.reason) == (RunState.FAILED, "account_unconfirmed_in_time")


@pytest.mark.parametrize("reason", [each for each in WaitReason if each != WaitReason.ACCOUNT_AWAITING_SITE])
def test_e1_no_other_reason_to_wait_has_that_end(reason: WaitReason) -> None:
    held = hold(new_run().run, reason, NOW).run
    assert overdue(held, PATIENCE, NOW + 2 * PATIENCE).run is held


def pushed() -> Run:
    step = through(through(new_run()))
    [command] = step.commands
    begun = acknowledge(step.run, command.command_id, accepted(), NOW).run
    return record_result(begun, command.command_id, ended(output=Output("r", "b" * 40)), NOW).run


@pytest.mark.parametrize(
    "reason",
    [WaitReason.OUTPUT_AWAITING_GIT, WaitReason.REPOSITORY_REFUSED, WaitReason.REPOSITORY_UNKNOWN],
)
def test_s2_an_output_nobody_confirms_ends_failed_and_says_so(reason: WaitReason) -> None:
    held = hold(pushed(), reason, NOW).run
    assert (held.state, held.output_awaited is not None) == (RunState.WAITING, True)
    assert reconsider(held, FINE, NOW).run is held
    assert overdue(held, PATIENCE, NOW).run is held
    over = overdue(held, PATIENCE, NOW + PATIENCE)
    assert (over.run.state, over.run.reason, over.run.output) == (
        RunState.FAILED,
        "output_unconfirmed_in_time",
        None,
    )
    assert len(over.commands) == 1, "its cleanup"
    assert confirm_output(held, held.output_awaited, NOW).run.state is RunState.COMPLETED


def test_o1_every_reason_to_wait_has_words_and_a_remedy() -> None:
    assert set(WAITS) == set(WaitReason)
    for words in (*WAITS.values(), *ENDS.values()):
        assert words.what.endswith(".") and words.remedy.endswith(".")
    assert {each.value for each in EndCause} <= set(ENDS)
    assert words_of("compute_failed") is None
