"""Rows of `retention` as domain values. A row at odds with itself is `CorruptState` (P7)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.kernel.times import stored_instant
from central.retention.domain.accepted_work import AcceptedWork, Evidence, Kind, WorkState
from central.retention.domain.ids import BindingId, ItemId, Owner, PartyId, ProjectId
from central.retention.domain.recovery import Phase, Recovery
from central.retention.domain.retained import Holder, Required


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """`retention.recovery`."""

    phase: str
    epoch: int
    owners: list[str]
    asked_at: datetime | None
    held_until: datetime | None
    alive_until: datetime | None
    reason: str | None

    def standing(self) -> Recovery:
        """The row as a domain value."""
        return Recovery(
            Phase(self.phase),
            self.epoch,
            tuple(map(Owner, self.owners)),
            _instant(self.asked_at),
            _instant(self.held_until),
            _instant(self.alive_until),
            self.reason,
        )


def recovery_params(recovery: Recovery) -> dict[str, object]:
    """The standing as the named parameters of its row."""
    return {
        "phase": recovery.phase.value,
        "epoch": recovery.epoch,
        "owners": list(recovery.owners),
        "asked_at": recovery.asked_at,
        "held_until": recovery.held_until,
        "alive_until": recovery.alive_until,
        "reason": recovery.reason,
    }


@dataclass(frozen=True, slots=True)
class WorkRow:
    """`retention.accepted_work`."""

    owner: str
    item_id: UUID
    kind: str
    revision: int
    state: str
    project_id: UUID
    party_id: UUID
    site: str
    binding_id: UUID
    generation: int
    management_generation: int
    deadline: datetime

    def work(self) -> AcceptedWork:
        """The row as a domain value."""
        return AcceptedWork(
            Owner(self.owner),
            ItemId(self.item_id),
            Kind(self.kind),
            self.revision,
            WorkState(self.state),
            ProjectId(self.project_id),
            PartyId(self.party_id),
            Site(self.site),
            Evidence(BindingId(self.binding_id), self.generation, self.management_generation),
            stored_instant(self.deadline),
        )


@dataclass(frozen=True, slots=True)
class RequiredRow:
    """`required`."""

    project_id: UUID
    party_id: UUID
    binding_id: UUID
    generation: int
    management_generation: int

    def required(self, site: Site) -> Required:
        """The row as a domain value."""
        holder = Holder(ProjectId(self.project_id), PartyId(self.party_id), site, BindingId(self.binding_id))
        return Required(holder, self.generation, self.management_generation)


def key_params(keys: Collection[tuple[Owner, ItemId]]) -> dict[str, object]:
    """Keys of items, as columns."""
    return {"owners": [owner for owner, _ in keys], "ids": [item for _, item in keys]}


def work_params(items: Sequence[AcceptedWork]) -> dict[str, object]:
    """Items as columns. Raises `CorruptState` for one without evidence, which is never held."""
    evidence = [_evidence(item) for item in items]
    return key_params([(item.owner, item.item_id) for item in items]) | {
        "kinds": [item.kind.value for item in items],
        "revisions": [item.revision for item in items],
        "states": [item.state.value for item in items],
        "project_ids": [item.project_id for item in items],
        "party_ids": [item.party_id for item in items],
        "sites": [item.site for item in items],
        "binding_ids": [each.binding_id for each in evidence],
        "generations": [each.generation for each in evidence],
        "management_generations": [each.management_generation for each in evidence],
        "deadlines": [item.deadline for item in items],
    }


def _evidence(item: AcceptedWork) -> Evidence:
    if item.evidence is None:
        raise CorruptState(f"{item.owner} {item.item_id}: work without evidence is not held")
    return item.evidence


def _instant(stored: datetime | None) -> datetime | None:
    return stored_instant(stored) if stored is not None else None
