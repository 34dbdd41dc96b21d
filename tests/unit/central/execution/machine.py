"""A Run and its model through the same events: members, worker, Site and Git host in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from central.execution.adapters.rows import decode_run, encode_run
from central.execution.application.work_items import encode_item, rows_since
from central.execution.domain.accept import accept
from central.execution.domain.attempts import as_of, retry
from central.execution.domain.command import Cancel, CleanUp, SiteCommand, Submit
from central.execution.domain.progress import (
    Step,
    StepRefused,
    acknowledge,
    begin,
    cancel,
    confirm_output,
    expire,
    hold,
    overdue,
    record_result,
)
from central.execution.domain.run import Acknowledgement, Output, Result, Run, RunState, Verdict, WaitReason
from central.execution.domain.settling import clean_up_again, settle
from central.execution.domain.waiting import Circumstances, reconsider
from tests.unit.central.execution.run_model import ENDED, ORDER, SILENCE, Model
from tests.unit.central.execution.settled import OPERATOR
from tests.unit.central.execution.values import (
    IDENTITY,
    MEMBER,
    NOW,
    OTHER,
    REQUEST,
    accepted,
    ended,
    refused,
)

PATIENCE = timedelta(hours=2)
PUSHED = Output("refs/heads/pharos/runs/x", "b" * 40)
SAID = st.sampled_from(("accepted", "accepted", "accepted", "command_expired", "partition_unknown"))
LAPSES = st.sampled_from((timedelta(0), timedelta(seconds=1), timedelta(minutes=5), PATIENCE))
RARELY = st.integers(0, 5).map(lambda drawn: drawn == 0)
"""What ends a Run comes seldom, so that most histories go far."""
DEADLINE = NOW + timedelta(hours=12)
WRONG = st.one_of(st.just(frozenset[str]()), st.frozensets(st.sampled_from(ORDER), max_size=2))
Word = Callable[[Run], Step]


class RunMachine(RuleBasedStateMachine):
    """`words` are all a Site said, each with its attempt: any of them is said again at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        step = accept(
            UUID(int=50),
            replace(REQUEST, deadline=DEADLINE),
            UUID(int=40),
            identity=IDENTITY,
            member=MEMBER,
            now=NOW,
        )
        self.run, self.first = step.run, step.run
        self.model = Model(DEADLINE, PATIENCE, NOW)
        self.commands: list[SiteCommand] = []
        self.words: list[tuple[UUID, Word]] = []
        self.jobs: list[tuple[UUID, str]] = []
        self.items: dict[UUID, bytes] = {}
        self._took(step)

    @initialize()
    def begins(self) -> None:
        """Nothing more: the Run is accepted."""

    def _took(self, step: Step) -> None:
        before, self.run = self.run, step.run
        self.commands += step.commands
        assert step.run is before or step.run.revision >= before.revision

    def _both(self, step: Callable[[], Step], expected: str | None) -> None:
        """The product does what the model did, or refuses with its code."""
        try:
            taken = step()
        except StepRefused as refusal:
            assert refusal.refusal.value == expected
            return
        assert expected is None, f"the model refuses: {expected}"
        self._took(taken)

    def _say(self, word: Word) -> None:
        self._took(word(self.run))
        self.words.append((self.run.attempt.attempt_id, word))

    def _at_hand(self, kind: type) -> UUID:
        """The latest command of that kind."""
        return [each.command_id for each in self.commands if isinstance(each.action, kind)][-1]

    @rule(lapse=LAPSES)
    def time_passes(self, lapse: timedelta) -> None:
        self.now += lapse
        self.model.now = self.now

    @precondition(lambda self: self.model.stage == "issued")
    @rule(said=SAID)
    def the_site_answers_a_stage(self, said: str) -> None:
        named, now = self._at_hand(Submit), self.now
        word: Acknowledgement = accepted() if said == "accepted" else refused(said)
        if said == "accepted" and not self.model.ended:
            self.jobs.append((self.run.attempt.attempt_id, str(self.model.at)))
        self.model.answer(said)
        self._say(lambda run: acknowledge(run, named, replace(word, ack_id=uuid4()), now))

    @precondition(lambda self: self.model.stage == "submitted")
    @rule(verdict=st.sampled_from((Verdict.COMPLETED, Verdict.COMPLETED, *Verdict)), output=st.booleans())
    def a_job_ends(self, verdict: Verdict, output: bool) -> None:
        named, now = self._at_hand(Submit), self.now
        last = self.model.at == 2
        found: Result = ended(verdict, output=PUSHED if output and last else None)
        self.model.verdict(verdict.value, output=output and last)
        self._say(lambda run: record_result(run, named, replace(found, result_id=uuid4()), now))

    @precondition(lambda self: self.model.stage == "issued")
    @rule(output=st.booleans())
    def a_stage_goes_well(self, output: bool) -> None:
        self.the_site_answers_a_stage("accepted")
        self.a_job_ends(Verdict.COMPLETED, output)

    @precondition(lambda self: self.model.stage == "issued")
    @rule(times=st.integers(1, 5))
    def the_site_lets_its_commands_lapse(self, times: int) -> None:
        for _ in range(times):
            if self.model.stage == "issued":
                self.the_site_answers_a_stage("command_expired")

    @precondition(lambda self: self.model.stage == "issued" and self.model.state in ("running", "waiting"))
    @rule(lapse=LAPSES)
    def a_repository_is_refused_for_a_while(self, lapse: timedelta) -> None:
        self.a_token_is_refused(WaitReason.REPOSITORY_REFUSED)
        self.the_site_answers_a_stage("command_expired")
        self.time_passes(lapse)
        self.the_worker_looks(frozenset())

    @precondition(lambda self: self.model.stage in ("waiting", "issued"))
    @rule(short=st.sampled_from((timedelta(0), timedelta(seconds=1))))
    def nobody_confirms_the_account(self, short: timedelta) -> None:
        """For as long as a Run waits, to the second."""
        self.the_worker_looks(frozenset({"account_awaiting_site"}))
        self.time_passes(PATIENCE - short)
        self.the_worker_looks(frozenset({"account_awaiting_site"}))

    @precondition(lambda self: self.model.cleanup == "asked")
    @rule()
    def a_cleanup_goes_well(self) -> None:
        self.the_site_answers_a_cleanup("accepted")
        self.a_cleanup_ends(True)

    @rule(now=RARELY)
    def a_member_cancels(self, now: bool) -> None:
        if not now and not self.model.ended:
            return
        self._both_after(self.model.ask_cancel, lambda: cancel(self.run, OTHER, None, self.now))

    def _both_after(self, model: Callable[[], str | None], step: Callable[[], Step]) -> None:
        self._both(step, model())

    @precondition(lambda self: self.model.cancel == "asked")
    @rule(said=SAID)
    def the_site_answers_the_cancel(self, said: str) -> None:
        named, now = self._at_hand(Cancel), self.now
        word = accepted() if said == "accepted" else refused(said)
        self.model.cancel_answer(said)
        self._say(lambda run: acknowledge(run, named, word, now))

    @precondition(lambda self: self.model.cancel == "asked" and self.model.state == "cancelling")
    @rule()
    def a_refused_cancel_is_asked_for_again(self) -> None:
        self.the_site_answers_the_cancel("command_not_understood")
        self.a_member_cancels(True)

    @rule(wrong=WRONG)
    def the_worker_looks(self, wrong: frozenset[str]) -> None:
        known = Circumstances(
            maintenance="site_maintenance" in wrong,
            suspended="resource_suspended" in wrong,
            allowed="authority_refused" not in wrong,
            confirmed="account_awaiting_site" not in wrong,
            consent="consent_expired" not in wrong,
        )
        self.model.look(wrong)
        self._took(reconsider(self.run, known, self.now))
        self.model.look_at_patience()
        self._took(overdue(self.run, PATIENCE, self.now))

    @precondition(lambda self: self.model.stage == "issued")
    @rule(reason=st.sampled_from((WaitReason.CONSENT_EXPIRED, WaitReason.REPOSITORY_UNKNOWN)))
    def a_token_is_refused(self, reason: WaitReason) -> None:
        self.model.wait(reason.value)
        self._took(hold(self.run, reason, self.now))

    @precondition(lambda self: self.model.stage == "issued" and self.model.state == "waiting")
    @rule()
    def a_token_is_given(self) -> None:
        self.model.go_on()
        self._took(begin(self.run, self.now))

    @rule()
    def the_deadline_is_looked_at(self) -> None:
        self.model.look_at_deadline()
        self._took(expire(self.run, self.now))

    @precondition(lambda self: self.model.awaits_git)
    @rule(says=st.sampled_from(("there", "there", "other", "nothing", "silence")))
    def the_git_host_is_asked(self, says: str) -> None:
        if says == "silence":
            self.model.wait("output_awaiting_git")
            self._took(hold(self.run, WaitReason.OUTPUT_AWAITING_GIT, self.now))
            self.model.look_at_patience()
            self._took(overdue(self.run, PATIENCE, self.now))
            return
        found = {"there": PUSHED, "other": replace(PUSHED, commit="c" * 40), "nothing": None}[says]
        self.model.git_says(there=says == "there")
        self._took(confirm_output(self.run, found, self.now))

    @precondition(lambda self: self.model.cleanup == "asked")
    @rule(said=SAID)
    def the_site_answers_a_cleanup(self, said: str) -> None:
        named, now = self._at_hand(CleanUp), self.now
        word = accepted() if said == "accepted" else refused(said)
        self.model.cleanup_answer(said)
        self._say(lambda run: acknowledge(run, named, word, now))

    @precondition(lambda self: self.model.cleanup == "told")
    @rule(done=st.booleans())
    def a_cleanup_ends(self, done: bool) -> None:
        named, now = self._at_hand(CleanUp), self.now
        found = ended(Verdict.COMPLETED if done else Verdict.FAILED)
        self.model.cleanup_end(done=done)
        self._say(lambda run: record_result(run, named, found, now))

    @rule()
    def a_member_asks_for_the_cleanup(self) -> None:
        self._both_after(self.model.clean_again, lambda: clean_up_again(self.run, OTHER, self.now))

    @rule()
    def an_operator_settles(self) -> None:
        said = replace(OPERATOR, at=self.now)
        self._both_after(self.model.settle, lambda: settle(self.run, said, SILENCE))

    @precondition(lambda self: self.model.state == "cancelling")
    @rule(short=st.sampled_from((timedelta(0), timedelta(seconds=1))), word=st.booleans())
    def the_site_falls_silent(self, short: timedelta, word: bool) -> None:
        """For as long as an operator's word has to wait, to the second; at once, or after one more word."""
        if word and self.model.stage == "issued":
            self.time_passes(timedelta(minutes=1))
            self.the_site_answers_a_stage("accepted")
        assert self.model.changed is not None
        self.time_passes(max(timedelta(0), self.model.changed + SILENCE - short - self.now))
        self.an_operator_settles()

    @rule(held=st.booleans())
    def a_member_tries_again(self, held: bool) -> None:
        reason = WaitReason.SITE_MAINTENANCE if held else None
        self._both_after(
            lambda: self.model.retry(held=held), lambda: retry(self.run, OTHER, self.now, held=reason)
        )

    @precondition(lambda self: self.words)
    @rule(which=st.integers(min_value=0))
    def a_word_is_said_again(self, which: int) -> None:
        """Whatever was said before is told the same and moves nothing, whichever attempt is the latest."""
        attempt, word = self.words[which % len(self.words)]
        then = as_of(self.run, attempt)
        assert then is not None
        after = word(then)
        assert after.run is then
        assert after.commands == ()

    @precondition(lambda self: self.jobs)
    @rule(which=st.integers(min_value=0))
    def another_job_is_claimed(self, which: int) -> None:
        """A second job of a stage is refused, never taken for the first."""
        stages = [
            (attempt.attempt_id, stage)
            for attempt in self.run.attempts
            for stage in attempt.stages
            if stage.acknowledgement is not None and stage.acknowledgement.accepted
        ]
        attempt, stage = stages[which % len(stages)]
        then, named = as_of(self.run, attempt), stage.command_id
        assert then is not None
        assert named is not None
        try:
            acknowledge(then, named, accepted("999"), self.now)
        except StepRefused as refusal:
            assert refusal.refusal.value == "command_acknowledged"
        else:
            raise AssertionError("another job was taken")

    @invariant()
    def both_are_the_same(self) -> None:
        run, model = self.run, self.model
        assert (run.state.value, run.reason, run.waits_since) == (model.state, model.reason, model.since)
        assert (run.attempt.number, run.released) == (model.n, model.released)
        assert (run.output is not None) == model.output
        assert run.changed_at == model.changed
        listed = [(each.attempt.number, _act(each)) for each in self.commands]
        assert listed == [(n, act) for n, act, _ in model.asked]
        cleanup = run.cleanup
        assert (cleanup is None, bool(cleanup and cleanup.done)) == (
            model.cleanup is None,
            model.cleanup == "done",
        )
        assert bool(cleanup and cleanup.refusal) == (model.cleanup == "refused")

    @invariant()
    def what_never_changes(self) -> None:
        run, first = self.run, self.first
        assert (run.identity, run.request, run.allocation_id, run.created_by) == (
            first.identity,
            first.request,
            first.allocation_id,
            first.created_by,
        )
        ids = [each.command_id for each in self.commands]
        assert len(set(ids)) == len(ids), "one id a native action"
        assert len(set(self.jobs)) == len(self.jobs), "one job a stage"
        assert decode_run(encode_run(run), run.run_id) == run
        assert (run.state in RunState) and (run.ended == (run.state.value in ENDED))

    @invariant()
    def a_release_is_final(self) -> None:
        for row in rows_since(self.run, 0):
            if row.item_id in self.items:
                assert row.released
            if row.released and row.item_id != rows_since(self.run, 0)[-1].item_id:
                assert encode_item(row) == self.items.setdefault(row.item_id, encode_item(row))
            elif row.released:
                self.items[row.item_id] = encode_item(row)


def _act(command: SiteCommand) -> str:
    if isinstance(command.action, Submit):
        return command.action.stage.value
    return "cancel" if isinstance(command.action, Cancel) else "cleanup"
