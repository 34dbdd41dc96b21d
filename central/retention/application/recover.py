"""One recovery pass over every owner of accepted work (P29).

1. The durable queues exist before anything is read: what changes while the pass reads comes through them.
2. Every owner is read whole and verified before anything of any owner is applied.
3. Items follow the rules of events, so a pass cannot undo a newer release; an item no owner lists any more
   is kept until its release is told.
4. Only a pass that applied everything stands, and only if nothing came between (`PassLost`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from central.kernel.errors import Unavailable
from central.kernel.paging import PagesDiffer
from central.kernel.questions import AnswerMalformed, SnapshotGone
from central.kernel.times import Clock
from central.retention.application.ports import DurableQueues, OwnerInventories, PassLost, WorkStore
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import Owner
from central.retention.domain.recovery import Recovery, RecoveryLimits


class Pass(StrEnum):
    """How a pass ended."""

    STOOD = "stood"
    FAILED = "failed"
    """It will be made again after a pause."""
    ELSEWHERE = "elsewhere"
    """Another pass is at work, or took over."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a pass did: how many items it read, or why it could not."""

    outcome: Pass
    items: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Recover:
    """The use case. `queues` are the durable queues of the consumers."""

    store: WorkStore
    inventories: OwnerInventories
    broker: DurableQueues
    owners: tuple[Owner, ...]
    queues: tuple[str, ...]
    limits: RecoveryLimits
    clock: Clock

    def __call__(self) -> Recovered:
        """Makes one pass. `Unavailable` only for this context's own database."""
        asked_at = self.clock()
        begun = self.store.begin(asked_at, self.limits)
        if begun is None:
            return Recovered(Pass.ELSEWHERE, reason="another pass is at work")
        try:
            items = self._read()
        except (SnapshotGone, PagesDiffer, AnswerMalformed, Unavailable) as error:
            return self._failed(begun, f"{type(error).__name__}: {error}")
        try:
            return self._apply(begun, items, asked_at)
        except PassLost as error:
            return Recovered(Pass.ELSEWHERE, reason=str(error))

    def _read(self) -> Sequence[AcceptedWork]:
        """Everything of every owner, verified (rules 1 and 2)."""
        missing = [queue for queue in self.queues if not self.broker.exists(queue)]
        if missing:
            raise Unavailable("unavailable", f"the broker has no queue {', '.join(missing)}")
        return [item for owner in self.owners for item in self.inventories.read(owner)]

    def _apply(self, begun: Recovery, items: Sequence[AcceptedWork], asked_at: datetime) -> Recovered:
        step = self.limits.put_at_once
        for start in range(0, len(items), step):
            self.store.put(begun, items[start : start + step], self.clock(), self.limits)
        self.store.stand(begun, self.owners, asked_at, self.clock(), self.limits)
        return Recovered(Pass.STOOD, len(items))

    def _failed(self, begun: Recovery, reason: str) -> Recovered:
        self.store.fail(begun, reason)
        return Recovered(Pass.FAILED, reason=reason)
