"""What the use cases of allocations need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.decision import Decision
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import Observation, ProviderProjectRef


class ProjectBindings(Protocol):
    """Knows which of Beto's Projects a provider Project is (P3)."""

    def resolve(
        self, instance: WaldurInstance, refs: Collection[ProviderProjectRef]
    ) -> Mapping[ProviderProjectRef, UUID | None]:
        """Each ref's Project, None where it is proven that exactly one does not hold it.

        Called outside any transaction (F08). Raises `Unavailable` while it cannot be known.
        """
        ...


@dataclass(frozen=True, slots=True)
class Settlement:
    """How far a report came without a Project looked up.

    `recorded`: its answers, now or when it came before; nothing else counts then. Otherwise `settled`:
    answers by position, `undecided`: the other positions, `unproven`: those among them without a proven
    Project.
    """

    recorded: Sequence[Answered] | None
    settled: Mapping[int, Answered]
    undecided: Sequence[int]
    unproven: Sequence[int]


Decide = Callable[[Saved | None, Observation], Decision]
"""Decides one resource from what is saved; pure, for it may be run again with the whole transaction."""


class Allocations(Protocol):
    """The Sites' reports and what they prove, in one database (P7, P8)."""

    def settle(self, report: Report, decide: Decide, now: datetime) -> Settlement:
        """Renews what is still as it was reported before, in one statement, and finds the rest.

        Unless the rest holds an unproven one, it is decided and the report recorded in the same transaction.
        Raises `Problem(COMMAND_REUSED)` if the report's id was used for another.
        """
        ...

    def decide(
        self,
        report: Report,
        settled: Mapping[int, Answered],
        undecided: Sequence[int],
        decide: Decide,
        now: datetime,
    ) -> Sequence[Answered]:
        """Decides the rest in one transaction, with versions and receipts; an answer a resource, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """Allocations in ascending id order; `next` is the id to go on after, None at the end."""

    allocations: Sequence[Saved]
    next: AllocationId | None


class SavedAllocations(Protocol):
    """Validated reads: what contradicts itself is `CorruptState`, never an answer (P9)."""

    def by_id(self, allocation: AllocationId) -> Saved | None:
        """The allocation, None if it was never reported."""
        ...

    def by_project(self, project_id: UUID) -> Sequence[Saved]:
        """Every allocation of a Project by id, retired ones included."""
        ...

    def page(self, after: AllocationId | None, limit: int) -> SnapshotPage:
        """A page of all allocations, for initial loading and repair."""
        ...
