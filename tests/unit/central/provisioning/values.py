"""An account, its allocation and what they stand on, for tests of the domain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from central.kernel.site_names import Site
from central.provisioning.domain.account import Account, AccountState
from central.provisioning.domain.allocation import Allocation, Facts, Lifecycle, Saved
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import Content, ProviderProjectRef, ProviderState

NOW = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)
LIMIT = timedelta(seconds=900)
SLURM = Site("slurm")
PARTY, BINDING, ONE, TWO = UUID(int=1), UUID(int=2), UUID(int=11), UUID(int=12)
ENTRY = "5f1c9a30-0000-1040-8000-000000000001"
ACCOUNT = Account(PARTY, "u1", f"{ENTRY}/42", 5000001, BINDING, 3, AccountState.READY)


def allocation(
    number: int, project: UUID | None, lifecycle: Lifecycle = Lifecycle.READY, *, site: Site = SLURM
) -> Saved:
    facts = Facts(project, ProviderProjectRef("p"), None, ProviderState.OK, False, None, None)
    instance = WaldurInstance("w")
    named = AllocationId(UUID(int=number))
    made = Allocation(named, site, instance, named, named, facts, lifecycle, (), None, 1, NOW)
    return Saved(made, 1, Content("0" * 32), NOW)
