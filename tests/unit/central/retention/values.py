"""Short forms of accepted work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from central.kernel.site_names import Site
from central.retention.domain.accepted_work import AcceptedWork, Evidence, Kind, WorkState
from central.retention.domain.ids import BindingId, ItemId, Owner, PartyId, ProjectId
from central.retention.domain.retained import Fences, Holder, Required

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
SITE = Site("slurm")
OWNERS = (Owner("execution"), Owner("pipeline"))
PROJECT, PARTY, BINDING = ProjectId(UUID(int=0x302)), PartyId(UUID(int=0x301)), BindingId(UUID(int=0x304))
HOLDER = Holder(PROJECT, PARTY, SITE, BINDING)


def work(
    revision: int = 1,
    *,
    released: bool = False,
    item: int = 1,
    generation: int = 2,
    evidence: bool = True,
    deadline: timedelta = timedelta(days=1),
) -> AcceptedWork:
    return AcceptedWork(
        OWNERS[0],
        ItemId(UUID(int=item)),
        Kind.RUN,
        revision,
        WorkState.RELEASED if released else WorkState.REQUIRED,
        PROJECT,
        PARTY,
        SITE,
        Evidence(BINDING, generation, 3) if evidence else None,
        NOW + deadline,
    )


def required(*, generation: int = 2, management: int = 3, holder: Holder = HOLDER) -> Required:
    return Required(holder, generation, management)


def fences(
    *, active: bool = True, management: int = 3, generation: int = 2, username: str | None = "u1"
) -> Fences:
    return Fences(active, management, generation, username)
