"""What Runs ask of Beto, allocations and accounts, answered from the other contexts (E1, P24, P26, P31).

What cannot be read is `Unavailable` in each of them: evidence that contradicts itself, too (X1).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.execution.application.ports import (
    Account,
    AccountAwaits,
    AccountChanged,
    AccountSeveral,
    Authority,
    Holder,
)
from central.execution.domain.permission import Permission
from central.execution.domain.planning import AHEAD, FRESH, Lifecycle, Resource
from central.execution.domain.run import Identity, Run
from central.kernel.database import Database
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.site_names import Site
from central.processes.provisioning_worker import BetoView
from central.processes.ssh_accounts import ViewedMembers
from central.projects.application.ports import ProjectDecisions
from central.projects.domain.ids import PartyId, ProjectId
from central.provisioning.adapters.postgres_accounts import PostgresAccounts
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.confirmed_accounts import ConfirmedAccounts
from central.provisioning.application.ports import SavedAllocations
from central.provisioning.application.provisioning_accounts import (
    AccountAmbiguous,
    AccountAwaitingSite,
    ProvisioningAccounts,
    Selection,
)
from central.provisioning.domain.allocation import Lifecycle as SavedLifecycle
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.amounts import by_component
from central.provisioning.domain.confirmation import AccountKey, AccountUnconfirmed, Unconfirmed
from central.provisioning.domain.ids import AllocationId

SLURM_ACCOUNT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""docs/wire.md, "Site API: commands"."""
_READY: Final = frozenset({SavedLifecycle.READY, SavedLifecycle.CHANGING})


@dataclass(frozen=True, slots=True)
class BetoAuthorities:
    """`Authorities`: Beto, asked at each use."""

    decisions: ProjectDecisions

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        """See `Authorities`."""
        said = self.decisions.project_allowed(ProjectId(project), PartyId(party), permission.value)
        return Authority(said.allowed, said.management_generation, said.valid_until)


@dataclass(frozen=True, slots=True)
class AllocatedResources:
    """`Planning` and `Suspensions` over the saved allocations; the observation is the later of both times."""

    allocations: SavedAllocations

    def resources(self, project: UUID, site: str) -> Sequence[Resource]:
        """See `Planning`."""
        with _readable():
            saved = self.allocations.by_project(project)
        return [
            _resource(one)
            for one in saved
            if one.allocation.site == site and one.allocation.lifecycle is not SavedLifecycle.RETIRED
        ]

    def suspended(self, run: Run, now: datetime) -> bool:
        """See `Suspensions`."""
        with _readable():
            saved = self.allocations.by_id(AllocationId(run.allocation_id))
        if saved is None:
            raise Unavailable("unavailable", "the Run's allocation is not there any more")
        recent = now - FRESH < saved.last_seen <= now + AHEAD
        return recent and saved.allocation.lifecycle is SavedLifecycle.SUSPENDED


@dataclass(frozen=True, slots=True)
class ReportedRunAccounts:
    """`Accounts` over what Sites reported. Without `new_work` only accepted work can be looked up."""

    confirmed: ConfirmedAccounts
    allocations: SavedAllocations
    new_work: ProvisioningAccounts | None

    def for_new_work(self, holder: Holder, resource: Resource, now: datetime) -> Account | None:
        """See `Accounts`."""
        if self.new_work is None:
            raise Unavailable("unavailable", "this process accepts no new work")
        wanted = Selection(
            holder.project, holder.party, Site(holder.site), AllocationId(resource.allocation_id)
        )
        try:
            chosen = self.new_work.get(wanted, now)
        except AccountAwaitingSite as awaits:
            raise AccountAwaits(awaits.reason.value) from None
        except AccountAmbiguous:
            raise AccountSeveral from None
        if chosen is None:
            return None
        account, key = chosen.account, chosen.key
        if account.uid_number is None:
            raise AccountAwaits(Unconfirmed.INCOMPLETE.value)
        identity = Identity(
            username=account.name,
            uid_number=account.uid_number,
            native_uid=account.native_uid,
            account=_slurm_account(resource),
            binding_id=key.binding_id,
            generation=key.generation,
            management_generation=holder.management_generation,
        )
        return Account(identity, account.observed_at)

    def confirmed_at(self, run: Run, now: datetime) -> datetime:
        """See `Accounts`."""
        saved, site = run.identity, Site(run.request.site)
        allocation = AllocationId(run.allocation_id)
        key = AccountKey(
            allocation, run.request.project_id, site, run.created_by, saved.binding_id, saved.generation
        )
        with _readable():
            found = self.confirmed.get(key, now)
            present = self.allocations.by_id(allocation)
        if isinstance(found, AccountUnconfirmed):
            raise AccountAwaits(found.reason.value)
        native_name = present.allocation.facts.native_name if present is not None else None
        if (found.name, found.uid_number, found.native_uid, native_name) != (
            saved.username,
            saved.uid_number,
            saved.native_uid,
            saved.account,
        ):
            raise AccountChanged
        return found.observed_at


@dataclass(frozen=True, slots=True)
class ConfiguredSites:
    """`Sites` of the settings: PHAROS_SITES, and of them PHAROS_EXECUTION_SITES (P36)."""

    names: Collection[str]
    open_for_execution: Collection[str]

    def known(self, site: str) -> bool:
        """See `Sites`."""
        return site in self.names

    def qualified(self, site: str) -> bool:
        """See `Sites`."""
        return site in self.open_for_execution


def run_accounts(database: Database, view: BetoView | None, max_age: timedelta) -> ReportedRunAccounts:
    """`Accounts` over provisioning's database; without Beto's view for accepted work alone."""
    allocations, accounts = PostgresSavedAllocations(database), PostgresAccounts(database)
    new_work = None
    if view is not None:
        members = ViewedMembers(view.site_bindings, view.provisioning_roster)
        new_work = ProvisioningAccounts(members, allocations, accounts, max_age)
    return ReportedRunAccounts(ConfirmedAccounts(allocations, accounts, max_age), allocations, new_work)


def _resource(saved: Saved) -> Resource:
    facts, lifecycle = saved.allocation.facts, saved.allocation.lifecycle
    told = Lifecycle.READY if lifecycle in _READY else Lifecycle.NOT_READY
    if lifecycle is SavedLifecycle.SUSPENDED:
        told = Lifecycle.SUSPENDED
    return Resource(
        saved.allocation.allocation_id, facts.native_name, told, saved.last_seen, by_component(facts.applied)
    )


def _slurm_account(resource: Resource) -> str:
    name = resource.native_name or ""
    if SLURM_ACCOUNT.fullmatch(name) is None:
        raise Unavailable("unavailable", "the Site's name of the allocation is no Slurm account")
    return name


@contextmanager
def _readable() -> Iterator[None]:
    """Evidence that contradicts itself proves nothing."""
    try:
        yield
    except CorruptState as error:
        raise Unavailable("unavailable", f"saved evidence contradicts itself: {error}") from error
