"""Passes over Runs, each made again and again by the worker (O3). One Run's trouble never stops the others.

What a pass decides is one command a Run, revision and act: two replicas that meet decide once (X7).
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from central.execution.application.list_commands import AskedOnce
from central.execution.application.ports import (
    AccountAwaits,
    AccountChanged,
    Accounts,
    Authorities,
    Maintenance,
    PeerSilent,
    Runs,
    StoreCommand,
)
from central.execution.application.worker_ports import Consented, RunPasses, Suspensions
from central.execution.domain.maintenance import in_force
from central.execution.domain.permission import Permission, permission_of
from central.execution.domain.progress import Step, expire, overdue
from central.execution.domain.run import Run
from central.execution.domain.waiting import Circumstances, next_stage, reconsider
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.observability import event

_LOG: Final = logging.getLogger("central.execution")
BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Passed:
    """What became of the Runs a pass looked at."""

    looked_at: int
    changed: int
    unavailable: int


@dataclass(slots=True)
class Tally:
    """What a pass comes to, counted from however many threads."""

    looked_at: int = 0
    changed: int = 0
    unavailable: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, run_id: UUID, work: Callable[[], bool]) -> None:
        """Counts whether `work` moved the Run. What cannot be known now, or is corrupt, is told and left as
        it is; `PeerSilent` is raised again, for it is of more than this Run.
        """
        changed, unavailable = False, True
        try:
            changed, unavailable = work(), False
        except CorruptState as error:
            event(_LOG, "state_corrupt", level=logging.CRITICAL, runId=str(run_id), reason=str(error))
        except Unavailable as error:
            tell_unavailable(run_id, error)
            if isinstance(error, PeerSilent):
                raise
        finally:
            with self.lock:
                self.looked_at += 1
                self.changed += changed
                self.unavailable += unavailable

    def passed(self) -> Passed:
        """The sum."""
        return Passed(self.looked_at, self.changed, self.unavailable)


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

        return each_run(self.runs, paged(self.passes.live), look)

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


def each_run(runs: Runs, ids: Iterable[UUID], look: Callable[[Run], bool]) -> Passed:
    """Looks at each Run by itself; what cannot be known now, or is corrupt, is told and left as it is."""
    tally = Tally()

    def one(run_id: UUID) -> bool:
        run = runs.by_id(run_id)
        return run is not None and look(run)

    for run_id in ids:
        tally.look(run_id, partial(one, run_id))
    return tally.passed()


def tell_unavailable(run_id: UUID, error: Unavailable) -> None:
    event(
        _LOG,
        "run_not_known_now",
        level=logging.WARNING,
        runId=str(run_id),
        code=error.code,
        reason=error.detail,
    )


def paged(read: Callable[[UUID | None, int], Iterable[UUID]]) -> Iterator[UUID]:
    """Every id that `read` lists after one, so many at a time."""
    after: UUID | None = None
    while page := list(read(after, BATCH)):
        yield from page
        after = page[-1]
