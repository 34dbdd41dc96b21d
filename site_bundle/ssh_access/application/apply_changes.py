"""Bring the directory to the desired state, a batch of targets at a time, and record a verdict a key (S7).

The desired state is in the journal before this runs (write-ahead). Each operation is a single value and
harmless when repeated, so a crash at any point is healed by running again: each key is in the directory
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import RefusedError
from site_bundle.ssh_access.domain.desired import DesiredKey, Outcome, Verdict
from site_bundle.ssh_access.domain.plan import Change, Operation, Policy, Spot, judge, plan, read_wishes
from site_bundle.ssh_access.domain.target import Entry, Target


class People(Protocol):
    """The people's entries. Every call raises UnavailableError when there is no whole answer (X1)."""

    def find(self, targets: Sequence[Target]) -> tuple[Entry, ...]:
        """All entries with the entryUUID or the name of a target; a missing one is proven absent."""

    def add(self, dn: str, value: bytes) -> bool: ...

    def delete(self, dn: str, value: bytes) -> bool: ...


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A desired key with the verdict on record, if any. `dated` False: its time was withdrawn, it is decided
    anew.
    """

    desired: DesiredKey
    verdict: Verdict | None
    settled: bool
    dated: bool = True


class KeyJournal(Protocol):
    """Desired keys by target, and the verdicts."""

    def unsettled_targets(self, after: str, limit: int) -> list[str]: ...

    def targets(self, after: str, limit: int) -> list[str]: ...

    def keys_of_targets(self, entry_uuids: Sequence[str]) -> tuple[KeptKey, ...]: ...

    def record_verdicts(self, verdicts: Sequence[tuple[DesiredKey, Verdict]], now: datetime) -> None: ...


class Events(Protocol):
    """What the use case tells as it goes: a structured log, counters, the watchdog."""

    def operation(self, operation: Operation, result: str, *, drift: bool) -> None: ...

    def verdict(self, key: DesiredKey, verdict: Verdict) -> None: ...

    def progress(self) -> None: ...


@dataclass(slots=True)
class Pass:
    """What one pass did."""

    keys: int = 0
    operations: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class ApplyChanges:
    """One pass over unsettled keys, or over all (`reconcile`)."""

    people: People
    journal: KeyJournal
    events: Events
    batch_targets: int
    observe: bool = False
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, *, policy: Policy, now: datetime, reconcile: bool = False) -> Pass:
        """Raises UnavailableError when the directory cannot be used: then `defer` says so of undecided
        keys.
        """
        done = Pass()
        for targets in self._batches(reconcile=reconcile):
            self._batch(self.journal.keys_of_targets(targets), policy, now, done)
            self.events.progress()
        return done

    def defer(self, code: str, *, now: datetime) -> None:
        """Keys nothing is known of yet are pending because of `code`; a verdict on record stays."""
        for targets in self._batches(reconcile=False):
            kept = self.journal.keys_of_targets(targets)
            waiting = Verdict(Outcome.PENDING, code)
            undecided = {item.desired.key_id: waiting for item in kept if item.verdict is None}
            self._record(kept, undecided, now)

    def _batches(self, *, reconcile: bool) -> Iterator[list[str]]:
        # By cursor, so that keys that stay pending are met once a pass.
        after = ""
        read = self.journal.targets if reconcile else self.journal.unsettled_targets
        while targets := read(after, self.batch_targets):
            yield targets
            after = targets[-1]

    def _batch(self, kept: tuple[KeptKey, ...], policy: Policy, now: datetime, done: Pass) -> None:
        wishes = read_wishes([item.desired for item in kept])
        wanted = tuple({item.desired.target: None for item in kept})
        entries = self.people.find(wanted)
        operations = plan(wishes, entries, policy)
        refused: frozenset[Spot] = frozenset()
        if operations and not self.observe:
            settled = {item.desired.key_id for item in kept if item.settled}
            refused = self._perform(operations, settled)
            entries = self.people.find(wanted)
            self.checkpoint("after-read-back")
        verdicts = judge(wishes, entries, policy, refused)
        if self.observe:
            verdicts = self._observed(operations, verdicts)
        self._record(kept, verdicts, now)
        self.checkpoint("verdicts-journalled")
        done.keys += len(wishes)
        done.operations += len(operations)
        done.pending += sum(verdict.outcome is Outcome.PENDING for verdict in verdicts.values())

    def _perform(self, operations: tuple[Operation, ...], settled: set[UUID]) -> frozenset[Spot]:
        refused: set[Spot] = set()
        for operation in operations:
            if operation.change is Change.DELETE and not refused.isdisjoint(operation.spots):
                continue  # another key of the value could not be carried over: it would go too (B17)
            drift = operation.key_id in settled
            self.checkpoint("before-modify")
            try:
                act = self.people.add if operation.change is Change.ADD else self.people.delete
                done = act(operation.dn, operation.value)
                self.events.operation(operation, "done" if done else "was_so", drift=drift)
            except RefusedError as error:
                refused |= operation.spots
                self.events.operation(operation, error.code, drift=drift)
            self.checkpoint("after-modify")
            self.events.progress()
        return frozenset(refused)

    def _observed(
        self, operations: tuple[Operation, ...], verdicts: dict[UUID, Verdict]
    ) -> dict[UUID, Verdict]:
        """Observe mode (S14): what would be done is told, nothing is written."""
        for operation in operations:
            self.events.operation(operation, "would", drift=False)
        held = Verdict(Outcome.HELD, "observe_mode")
        return {k: held if v.outcome is Outcome.PENDING else v for k, v in verdicts.items()}

    def _record(self, kept: tuple[KeptKey, ...], verdicts: dict[UUID, Verdict], now: datetime) -> None:
        """Writes only what differs from the record, so an idle pass writes nothing."""
        changed = []
        for item in kept:
            verdict = verdicts.get(item.desired.key_id)
            settled = verdict is not None and verdict.outcome is not Outcome.PENDING
            stands = verdict == item.verdict and item.settled is settled and item.dated
            if verdict is None or stands:
                continue
            changed.append((item.desired, verdict))
        if changed:
            self.journal.record_verdicts(changed, now)
            for key, verdict in changed:
                self.events.verdict(key, verdict)
