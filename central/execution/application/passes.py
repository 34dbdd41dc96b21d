"""Passes over Runs, each made again and again by the worker (O3). One Run's trouble never stops the others.

What a pass decides is one command a Run, revision and act: two replicas that meet decide once (X7).
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.execution.application.list_commands import AskedOnce
from central.execution.application.ports import (
    AccountAwaits,
    AccountChanged,
    Accounts,
    Authorities,
    Maintenance,
    RepositoryCredentials,
    RepositoryRefused,
    Runs,
    StoreCommand,
)
from central.execution.application.worker_ports import (
    Consented,
    GitRefs,
    GivenCredential,
    GivenCredentials,
    RunPasses,
    Suspensions,
)
from central.execution.domain.command import credential_id
from central.execution.domain.maintenance import in_force
from central.execution.domain.permission import Permission, permission_of
from central.execution.domain.progress import Step, confirm_output, expire, hold, overdue
from central.execution.domain.run import Output, Run, StageState, WaitReason
from central.execution.domain.waiting import Circumstances, next_stage, reconsider
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.observability import event

_LOG: Final = logging.getLogger("central.execution")
BATCH: Final = 100
CONFIRM: Final = "confirm"
"""The purpose of the credential a Run's output is confirmed with."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What became of the Runs a pass looked at."""

    looked_at: int
    changed: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Mover:
    """Moves a Run by a step that is decided from it, once a revision."""

    runs: Runs

    def __call__(self, run: Run, act: str, step: Callable[[Run], Step], now: datetime) -> bool:
        """Whether it moved."""
        if step(run).run is run:
            return False
        command = StoreCommand.named(f"{act} {run.run_id} {run.revision}")
        after = self.runs.move(command, run.run_id, step, now).run
        event(_LOG, act, runId=str(run.run_id), state=after.state.value, reason=after.reason)
        return True


@dataclass(frozen=True, slots=True)
class ExpireRuns:
    """Ends what is past its deadline (P27: the deadline itself releases nothing)."""

    passes: RunPasses
    runs: Runs

    def __call__(self, now: datetime) -> Passed:
        """One pass."""
        move = Mover(self.runs)
        due = self.passes.past_deadline(now, BATCH)
        return each_run(self.runs, due, lambda run: move(run, "run_expired", lambda at: expire(at, now), now))


@dataclass(frozen=True, slots=True)
class _Memory:
    """What one pass was told."""

    authorities: AskedOnce
    known: dict[tuple[str, object], bool] = field(default_factory=dict)

    def once(self, kind: str, name: object, ask: Callable[[], bool]) -> bool:
        """The answer, asked for the first time only."""
        if (kind, name) not in self.known:
            self.known[kind, name] = ask()
        return self.known[kind, name]


@dataclass(frozen=True, slots=True)
class ReconsiderRuns:
    """Holds Runs that cannot go on, lets go on those that can again, and ends those whose account was not
    confirmed for `patience` (E1, E4, E5, S15).
    """

    passes: RunPasses
    runs: Runs
    maintenance: Maintenance
    suspensions: Suspensions
    authorities: Authorities
    accounts: Accounts
    consents: Consented
    patience: timedelta

    def __call__(self, now: datetime) -> Passed:
        """One pass over every Run that has not ended; each other is asked the same thing once."""
        memory = _Memory(AskedOnce(self.authorities))

        def look(run: Run) -> bool:
            stage = next_stage(run)
            if stage is None:
                return False
            known = self._circumstances(run, permission_of(stage.name), memory, now)

            def step(at: Run) -> Step:
                after = reconsider(at, known, now)
                ending = overdue(after.run, self.patience, now)
                return Step(ending.run, (*after.commands, *ending.commands))

            return Mover(self.runs)(run, "run_reconsidered", step, now)

        return each_run(self.runs, _paged(self.passes.live), look)

    def _circumstances(
        self, run: Run, permission: Permission, memory: _Memory, now: datetime
    ) -> Circumstances:
        site, party = run.request.site, run.created_by
        return Circumstances(
            maintenance=memory.once("site", site, lambda: in_force(self.maintenance.of(site), now)),
            suspended=memory.once(
                "allocation", run.allocation_id, lambda: self.suspensions.suspended(run, now)
            ),
            allowed=memory.authorities.decide(run.request.project_id, party, permission).allowed,
            confirmed=self._confirmed(run, now),
            consent=memory.once("consent", party, lambda: self.consents.stands(party)),
        )

    def _confirmed(self, run: Run, now: datetime) -> bool:
        try:
            self.accounts.confirmed_at(run, now)
        except (AccountAwaits, AccountChanged):
            return False
        return True


@dataclass(slots=True)
class _Round:
    """Where the next pass goes on, None from the beginning."""

    place: UUID | None = None


@dataclass(frozen=True, slots=True)
class ConfirmOutputs:
    """Asks the Git server what is at a Run's ref (S2). While it is silent the Run waits and says so; after
    `patience` it ends, for nobody can say what its output came to.

    A pass looks at `BATCH` Runs and the next one goes on behind them: those of a host that is silent for long
    stand in nobody's way.
    """

    passes: RunPasses
    runs: Runs
    git: GitRefs
    credentials: RepositoryCredentials
    patience: timedelta
    round: _Round = field(default_factory=_Round)

    def __call__(self, now: datetime) -> Passed:
        """One pass."""
        due = self.passes.awaiting_output(self.round.place, BATCH)
        self.round.place = due[-1] if len(due) == BATCH else None
        return each_run(self.runs, due, lambda run: self._confirm(run, now))

    def _confirm(self, run: Run, now: datetime) -> bool:
        awaited = run.output_awaited
        if awaited is None:
            return False
        try:
            credential = self.credentials.issue(run, CONFIRM, write_ref=None, now=now)
            commit = self.git.commit_of(run.request.repository.url, awaited.ref, credential)
        except RepositoryRefused as refused:
            return self._wait(run, refused.reason, now)
        except Unavailable as silence:
            _tell_unavailable(run.run_id, silence)
            return self._wait(run, WaitReason.OUTPUT_AWAITING_GIT, now)
        found = Output(awaited.ref, commit) if commit is not None else None
        return Mover(self.runs)(run, "run_output_confirmed", lambda at: confirm_output(at, found, now), now)

    def _wait(self, run: Run, reason: WaitReason, now: datetime) -> bool:
        def step(at: Run) -> Step:
            return overdue(hold(at, reason, now).run, self.patience, now)

        return Mover(self.runs)(run, "run_output_awaited", step, now)


@dataclass(frozen=True, slots=True)
class RevokeCredentials:
    """Takes back what a stage needs no more (S2)."""

    runs: Runs
    given: GivenCredentials

    def __call__(self, now: datetime) -> Passed:
        """One pass over all that are outstanding."""
        looked = revoked = unavailable = 0
        after: UUID | None = None
        while page := self.given.outstanding(after, BATCH):
            after = page[-1].credential_id
            for each in page:
                looked += 1
                try:
                    run = self.runs.by_id(each.run_id)
                    if run is not None and not _in_use(run, each):
                        self.given.revoke(each.credential_id, now)
                        revoked += 1
                except Unavailable as error:
                    unavailable += 1
                    _tell_unavailable(each.run_id, error)
        return Passed(looked, revoked, unavailable)


def _in_use(run: Run, given: GivenCredential) -> bool:
    purpose = given.purpose
    if run.ended or given.credential_id != credential_id(run, purpose):
        return False  # what an earlier attempt was given is nobody's any more
    if purpose == CONFIRM:
        return run.output_awaited is not None
    return any(
        stage.name.value == purpose and stage.state is not StageState.DONE for stage in run.attempt.stages
    )


def each_run(runs: Runs, ids: Iterable[UUID], look: Callable[[Run], bool]) -> Passed:
    """Looks at each Run by itself; what cannot be known now, or is corrupt, is told and left as it is."""
    looked = changed = unavailable = 0
    for run_id in ids:
        looked += 1
        try:
            run = runs.by_id(run_id)
            if run is not None and look(run):
                changed += 1
        except Unavailable as error:
            unavailable += 1
            _tell_unavailable(run_id, error)
        except CorruptState as error:
            unavailable += 1
            event(_LOG, "state_corrupt", level=logging.CRITICAL, runId=str(run_id), reason=str(error))
    return Passed(looked, changed, unavailable)


def _tell_unavailable(run_id: UUID, error: Unavailable) -> None:
    event(
        _LOG,
        "run_not_known_now",
        level=logging.WARNING,
        runId=str(run_id),
        code=error.code,
        reason=error.detail,
    )


def _paged(read: Callable[[UUID | None, int], Iterable[UUID]]) -> Iterator[UUID]:
    after: UUID | None = None
    while page := list(read(after, BATCH)):
        yield from page
        after = page[-1]
