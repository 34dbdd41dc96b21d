"""The account an active member's new work runs as (P26). The name is the reported one, never derived."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from central.kernel.errors import CorruptState, Unavailable
from central.kernel.site_names import Site
from central.provisioning.application.account_ports import AccountReads
from central.provisioning.application.find_member_account import SiteMembers
from central.provisioning.application.ports import SavedAllocations
from central.provisioning.domain.account_choice import Candidate, Chosen, Several, choose
from central.provisioning.domain.allocation import Allocation, Lifecycle
from central.provisioning.domain.confirmation import AccountKey, Unconfirmed
from central.provisioning.domain.ids import AllocationId


class AccountAwaitingSite(Unavailable):
    """The Site has not confirmed the account yet; the member is shown `reason`. It may succeed later."""

    def __init__(self, reason: Unconfirmed) -> None:
        super().__init__("account_awaiting_site", f"the Site has not confirmed the account: {reason.value}")
        self.reason = reason


class AccountAmbiguous(Exception):
    """Several accounts fit; a Site or an allocation has to be selected."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Whose account, and where: `site` and `allocation_id` are None where any will do."""

    project_id: UUID
    party_id: UUID
    site: Site | None = None
    allocation_id: AllocationId | None = None


@dataclass(frozen=True, slots=True)
class ProvisioningAccounts:
    """The use case. `max_age` is RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS."""

    members: SiteMembers
    allocations: SavedAllocations
    accounts: AccountReads
    max_age: timedelta

    def get(self, wanted: Selection, now: datetime) -> Chosen | None:
        """The account; None for who is no active member, or a Project without a live allocation there.

        Selected first, so that nothing elsewhere can block. Raises `AccountAwaitingSite`, `AccountAmbiguous`,
        and `Unavailable` for what cannot be read, corrupt evidence included: that is never "none".
        """
        try:
            candidates = self._candidates(wanted, now)
        except CorruptState as error:
            raise Unavailable("unavailable", f"account evidence contradicts itself: {error}") from error
        if not candidates:
            return None
        answer = choose(candidates, now, self.max_age)
        if isinstance(answer, Several):
            raise AccountAmbiguous("several accounts fit; select a Site or an allocation")
        if isinstance(answer, Unconfirmed):
            raise AccountAwaitingSite(answer)
        return answer

    def _candidates(self, wanted: Selection, now: datetime) -> list[Candidate]:
        keys: dict[Site, tuple[UUID, int] | None] = {}
        candidates: list[Candidate] = []
        for allocation in self._selected(wanted):
            site = allocation.site
            if site not in keys:
                keys[site] = self._membership(wanted, site, now)
            known = keys[site]
            if known is None:
                continue
            binding_id, generation = known
            named = allocation.allocation_id
            key = AccountKey(named, wanted.project_id, site, wanted.party_id, binding_id, generation)
            candidates.append(Candidate(key, self.accounts.of_party(named, site, wanted.party_id)))
        return candidates

    def _selected(self, wanted: Selection) -> Sequence[Allocation]:
        """The Project's live allocations that were asked for."""
        if wanted.allocation_id is not None:
            one = self.allocations.by_id(wanted.allocation_id)
            found = [one.allocation] if one is not None else []
        else:
            found = [saved.allocation for saved in self.allocations.by_project(wanted.project_id)]
        return [
            allocation
            for allocation in found
            if allocation.facts.project_id == wanted.project_id
            and allocation.lifecycle is not Lifecycle.RETIRED
            and wanted.site in (None, allocation.site)
        ]

    def _membership(self, wanted: Selection, site: Site, now: datetime) -> tuple[UUID, int] | None:
        """Binding and generation of an active member; None for who is proven not one there."""
        held = self.members.name_at(site, wanted.party_id, now)
        if held is None or not held.active:
            return None
        generation = self.members.generation(wanted.project_id, site, wanted.party_id, now)
        return None if generation is None else (held.binding_id, generation)
