"""One Launch, Run or Pipeline that a Project accepted, and the account it was accepted with (P27)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from central.kernel.site_names import Site
from central.retention.domain.ids import BindingId, ItemId, Owner, PartyId, ProjectId


class Kind(StrEnum):
    """What was accepted."""

    LAUNCH = "launch"
    RUN = "run"
    PIPELINE = "pipeline"


class WorkState(StrEnum):
    """Whether the work still needs its account. A passed deadline does not change it."""

    REQUIRED = "required"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What acceptance recorded: the account's site binding and generation, and the Project's management
    generation. A generation is at least 1.
    """

    binding_id: BindingId
    generation: int
    management_generation: int


@dataclass(frozen=True, slots=True)
class AcceptedWork:
    """One revision of an item. `evidence` is None for work accepted before evidence was recorded: it keeps
    no account and is not saved.
    """

    owner: Owner
    item_id: ItemId
    kind: Kind
    revision: int
    state: WorkState
    project_id: ProjectId
    party_id: PartyId
    site: Site
    evidence: Evidence | None
    deadline: datetime

    @property
    def id(self) -> UUID:
        """What the owner's inventory is ordered by."""
        return self.item_id

    @property
    def released(self) -> bool:
        """Whether the account is needed no more."""
        return self.state is WorkState.RELEASED
