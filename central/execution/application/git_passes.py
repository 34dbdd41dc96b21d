"""The passes that ask Git hosts, each host in a turn of its own: a silent one holds up no other (S2, X1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from central.execution.application.host_turns import Heard, HostTurns, Question
from central.execution.application.passes import (
    BATCH,
    Mover,
    Passed,
    Tally,
    each_run,
    paged,
    tell_unavailable,
)
from central.execution.application.ports import PeerSilent, RepositoryCredentials, RepositoryRefused, Runs
from central.execution.application.worker_ports import GitRefs, GivenCredential, GivenCredentials, RunPasses
from central.execution.domain.command import credential_id
from central.execution.domain.progress import Step, confirm_output, hold, overdue
from central.execution.domain.run import Output, Run, StageState, WaitReason
from central.kernel.errors import Unavailable

CONFIRM: Final = "confirm"
"""The purpose of the credential a Run's output is confirmed with, and of asking for it."""
REVOKE: Final = "revoke"
"""The purpose of asking for a credential back."""
_NOTHING: Final = Heard(answered=False, changed=False)


@dataclass(frozen=True, slots=True)
class ConfirmOutputs:
    """Asks the Git server what is at a Run's ref (S2). While nobody says, the Run waits and says so; after
    `patience` it ends, for nobody can say what its output came to.
    """

    passes: RunPasses
    runs: Runs
    git: GitRefs
    credentials: RepositoryCredentials
    patience: timedelta
    turns: HostTurns

    def __call__(self, now: datetime) -> Passed:
        """One pass."""
        wanted: dict[str, list[Question]] = {}

        def sort(run: Run) -> bool:
            question = Question(run.run_id, run.run_id)
            wanted.setdefault(run.request.repository.host, []).append(question)
            return False

        def ask(question: Question) -> Heard:
            run = self.runs.by_id(question.run_id)
            return self._confirm(run, now) if run is not None else _NOTHING

        def silent(question: Question) -> bool:
            run = self.runs.by_id(question.run_id)
            return run is not None and self._wait(run, WaitReason.OUTPUT_AWAITING_GIT, now)

        known = each_run(self.runs, paged(self.passes.awaiting_output), sort)
        asked = self.turns(wanted, ask, silent, now)
        return Passed(known.looked_at, asked.changed, known.unavailable + asked.unavailable)

    def _confirm(self, run: Run, now: datetime) -> Heard:
        """What the host says of the output. `PeerSilent`: `silent` hears of this Run, too."""
        awaited, answered = run.output_awaited, False
        if awaited is None:
            return _NOTHING
        try:
            credential = self.credentials.issue(run, CONFIRM, write_ref=None, now=now)
            answered = True  # whatever the host itself says from here on
            commit = self.git.commit_of(run.request.repository.url, awaited.ref, credential)
        except RepositoryRefused as refused:
            return Heard(answered, self._wait(run, refused.reason, now))
        except PeerSilent:
            raise
        except Unavailable as unclear:
            tell_unavailable(run.run_id, unclear)
            return Heard(answered, self._wait(run, WaitReason.OUTPUT_AWAITING_GIT, now))
        found = Output(awaited.ref, commit) if commit is not None else None
        moved = Mover(self.runs)(run, "run_output_confirmed", lambda at: confirm_output(at, found, now), now)
        return Heard(answered, moved)

    def _wait(self, run: Run, reason: WaitReason, now: datetime) -> bool:
        if run.output_awaited is None:
            return False

        def step(at: Run) -> Step:
            return overdue(hold(at, reason, now).run, self.patience, now)

        return Mover(self.runs)(run, "run_output_awaited", step, now)


@dataclass(frozen=True, slots=True)
class RevokeCredentials:
    """Takes back what a stage needs no more (S2)."""

    runs: Runs
    given: GivenCredentials
    turns: HostTurns

    def __call__(self, now: datetime) -> Passed:
        """One pass over all that are outstanding."""
        wanted: dict[str, list[Question]] = {}
        known = Tally()

        def take_back(question: Question) -> Heard:
            self.given.revoke(question.id, now)
            return Heard(answered=True, changed=True)

        for each in self._outstanding():
            known.look(each.run_id, partial(self._sort, each, wanted))
        asked = self.turns(wanted, take_back, lambda _: False, now)  # what stands is asked for again
        return Passed(known.looked_at, asked.changed, known.unavailable + asked.unavailable)

    def _sort(self, given: GivenCredential, wanted: dict[str, list[Question]]) -> bool:
        run = self.runs.by_id(given.run_id)
        if run is not None and not _in_use(run, given):
            host = run.request.repository.host
            wanted.setdefault(host, []).append(Question(given.credential_id, given.run_id))
        return False

    def _outstanding(self) -> Iterator[GivenCredential]:
        after: UUID | None = None
        while page := self.given.outstanding(after, BATCH):
            yield from page
            after = page[-1].credential_id


def _in_use(run: Run, given: GivenCredential) -> bool:
    purpose = given.purpose
    if run.ended or given.credential_id != credential_id(run, purpose):
        return False  # what an earlier attempt was given is nobody's any more
    if purpose == CONFIRM:
        return run.output_awaited is not None
    return any(
        stage.name.value == purpose and stage.state is not StageState.DONE for stage in run.attempt.stages
    )
