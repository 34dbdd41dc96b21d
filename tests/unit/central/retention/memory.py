"""The ports of retained accounts in memory: what the machine drives without a server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.retention.application.ports import PassLost, Snapshot
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import ItemId, Owner
from central.retention.domain.judgement import Effect, judge
from central.retention.domain.recovery import Phase, Recovery, RecoveryLimits
from central.retention.domain.retained import Fences, Holder, Required, Unknown


@dataclass(slots=True)
class MemoryWork:
    """`WorkStore` over dictionaries."""

    held: dict[tuple[Owner, ItemId], AcceptedWork] = field(default_factory=dict)
    seen: dict[tuple[str, UUID], datetime] = field(default_factory=dict)
    standing: Recovery = field(default_factory=lambda: Recovery(Phase.NONE, 0, (), None, None, None, None))

    def apply(
        self, consumer: str, messages: Sequence[tuple[UUID, AcceptedWork]], now: datetime
    ) -> Sequence[Effect | None]:
        effects: list[Effect | None] = []
        for message, item in messages:
            fresh = (consumer, message) not in self.seen
            self.seen.setdefault((consumer, message), now)
            effects.append(self._judge(item, verified=False) if fresh else None)
        if Effect.CONFLICT in effects:
            self.doubt("a conflict")
        return effects

    def _judge(self, item: AcceptedWork, *, verified: bool) -> Effect:
        key = (item.owner, item.item_id)
        judgement = judge(self.held.get(key), item, verified=verified)
        if judgement.after is not None:
            self.held[key] = judgement.after
        return judgement.effect

    def recovery(self) -> Recovery:
        return self.standing

    def required(self, site: Site) -> Snapshot:
        found = {
            Required(
                Holder(item.project_id, item.party_id, item.site, item.evidence.binding_id),
                item.evidence.generation,
                item.evidence.management_generation,
            )
            for item in self.held.values()
            if item.site == site and not item.released and item.evidence is not None
        }
        return Snapshot(self.standing, list(found))

    def start(self) -> Recovery:
        self.standing = self.standing.started()
        return self.standing

    def begin(self, now: datetime, limits: RecoveryLimits) -> Recovery | None:
        if self.standing.held(now):
            return None
        self.standing = self.standing.begun(now, limits)
        return self.standing

    def put(
        self, begun: Recovery, items: Sequence[AcceptedWork], now: datetime, limits: RecoveryLimits
    ) -> Sequence[Effect]:
        self._still(begun)
        self.standing = self.standing.kept(now, limits)
        return [self._judge(item, verified=True) for item in items]

    def stand(
        self,
        begun: Recovery,
        owners: tuple[Owner, ...],
        asked_at: datetime,
        now: datetime,
        limits: RecoveryLimits,
    ) -> None:
        self._still(begun)
        self.standing = self.standing.stood(owners, asked_at, now, limits)

    def _still(self, begun: Recovery) -> None:
        if self.standing.epoch != begun.epoch:
            raise PassLost("another epoch")

    def fail(self, begun: Recovery, reason: str) -> None:
        if self.standing.epoch == begun.epoch:
            self.standing = self.standing.failed(reason)

    def doubt(self, reason: str) -> None:
        self.standing = self.standing.doubted(reason)

    def beat(self, now: datetime, limits: RecoveryLimits) -> Recovery:
        self.standing = self.standing.beaten(now, limits)
        return self.standing

    def forget_receipts(self, before: datetime) -> int:
        gone = [key for key, at in self.seen.items() if at < before]
        for key in gone:
            del self.seen[key]
        return len(gone)


@dataclass(slots=True)
class ToldFences:
    """`ProjectFences` that says what a test told it."""

    known: dict[Holder, Fences | Unknown] = field(default_factory=dict)
    readable: bool = True

    def of(self, holders: Collection[Holder], now: datetime) -> Mapping[Holder, Fences | Unknown]:
        if not self.readable:
            raise Unavailable("unavailable", "the view is not loaded")
        return {holder: self.known.get(holder, Unknown("not viewed")) for holder in holders}


@dataclass(slots=True)
class Queues:
    """`DurableQueues` of which some may be missing."""

    missing: set[str] = field(default_factory=set)

    def exists(self, queue: str) -> bool:
        return queue not in self.missing


class Crash(BaseException):
    """The process died here; nothing after it ran."""


def crashing(store: object, checkpoint: tuple[str, str, int]) -> object:
    """`store` whose `nth` call of a method dies before it began, or after it was committed.

    `checkpoint` is the method, `before` or `after`, and which call, counted from 1.
    """
    method, when, nth = checkpoint
    calls = 0

    class Dying:
        def __getattr__(self, name: str) -> Callable[..., object]:
            inner: Callable[..., object] = getattr(store, name)

            def call(*given: object, **named: object) -> object:
                nonlocal calls
                calls += name == method
                here = name == method and calls == nth
                if here and when == "before":
                    raise Crash
                done = inner(*given, **named)
                if here:
                    raise Crash
                return done

            return call

    return Dying()
