"""`MemberAccounts` of SSH access from the Sites' own reports and Beto's view (P30)."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.kernel.database import Database
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.observability import event
from central.kernel.site_names import Site
from central.processes.provisioning_worker import BetoView
from central.projects.application.ports import PartyProjects
from central.projects.application.roster import ProvisioningRoster
from central.projects.application.site_bindings import SiteBindings
from central.projects.domain.authority import Deferred
from central.projects.domain.ids import PartyId, ProjectId
from central.projects.domain.roster import NoMember
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, Standing
from central.provisioning.adapters.postgres_member_accounts import PostgresMemberAccounts
from central.provisioning.application.find_member_account import FindMemberAccount
from central.provisioning.domain.ids import parse_uuid
from central.provisioning.domain.member_account import Doubt, HeldName, MemberAccount, NoMemberAccount
from central.ssh_access.domain.account import Absence, AccountAnswer, AccountUnavailable, NoAccount
from central.ssh_access.domain.member_key import MemberId, Target

_LOG: Final = logging.getLogger("central.provisioning")


@dataclass(frozen=True, slots=True)
class ViewedMembers:
    """`SiteMembers` from Beto's view and decisions."""

    bindings: SiteBindings
    roster: ProvisioningRoster

    def name_at(self, site: Site, party: UUID, now: datetime) -> HeldName | None:
        """See `SiteMembers`."""
        binding = self._binding(site, party, now)
        if binding is None:
            return None
        active = binding.standing is Standing.ACTIVE
        return HeldName(binding.party_id, binding.binding_id, binding.username, active)

    def generation(self, project: UUID, site: Site, party: UUID, now: datetime) -> int | None:
        """See `SiteMembers`."""
        binding = self._binding(site, party, now)
        answer = self.roster(ProjectId(project), binding, now) if binding else NoMember.ABSENT
        if isinstance(answer, Deferred):
            raise Unavailable("unavailable", f"membership cannot be decided now: {answer.value}")
        if isinstance(answer, NoMember) or answer.standing is not Standing.ACTIVE:
            return None
        return answer.generation

    def _binding(self, site: Site, party: UUID, now: datetime) -> SiteBinding | None:
        answer = self.bindings.by_party(Site(site), PartyId(party), now)
        if isinstance(answer, Conflict):
            raise Unavailable("unavailable", "the Party's site bindings are in conflict")
        return None if isinstance(answer, NoBinding) else answer


@dataclass(frozen=True, slots=True)
class ViewedPerson(ViewedMembers):
    """`PersonMembers`, as the same."""

    party_projects: PartyProjects

    def projects(self, party: UUID, now: datetime) -> Collection[UUID]:
        """See `PersonMembers`."""
        return self.party_projects.of_party(PartyId(party), now)


def party_of_subject(member: MemberId) -> UUID | None:
    """The Party of a member whose issuer names members by their Party's UUID; None for any other subject."""
    return parse_uuid(member)


@dataclass(frozen=True, slots=True)
class ReportedAccounts:
    """`MemberAccounts`: three outcomes, and what is in doubt is never "no account" (X1).

    A Slurm Site's native UID begins with the directory's entryUUID, up to the first `/`.
    """

    find: FindMemberAccount
    sites: Collection[str]
    party_of: Callable[[MemberId], UUID | None] = party_of_subject

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:
        """See `MemberAccounts`."""
        if site not in self.sites:
            return NoAccount(Absence.SITE_UNKNOWN)
        party = self.party_of(subject)
        if party is None:
            return AccountUnavailable("no Party is known for this identity")
        try:
            answer = self.find(site, party, now)
        except Unavailable as error:
            return AccountUnavailable(error.detail)
        except CorruptState as error:
            event(_LOG, "state_corrupt", level=logging.CRITICAL, reason=str(error))
            return AccountUnavailable("what is stored of the Site's accounts contradicts itself")
        if isinstance(answer, Doubt):
            return AccountUnavailable(answer.reason, answer.awaits_site)
        if isinstance(answer, NoMemberAccount):
            return NoAccount(Absence(answer.value))
        return _target(answer)


def reported_accounts(
    database: Database, view: BetoView, sites: Collection[str], max_age: timedelta
) -> ReportedAccounts:
    """`MemberAccounts` over the owner's database (`pharos_resource_provisioning`) and Beto's view."""
    members = ViewedPerson(view.site_bindings, view.provisioning_roster, view.party_projects)
    find = FindMemberAccount(members, PostgresMemberAccounts(database), max_age)
    return ReportedAccounts(find, sites)


def _target(account: MemberAccount) -> Target | AccountUnavailable:
    entry_uuid = parse_uuid(account.native_uid.partition("/")[0])
    if entry_uuid is None:
        return AccountUnavailable("the Site's native UID names no directory entry")
    return Target(account.username, account.uid_number, entry_uuid)
