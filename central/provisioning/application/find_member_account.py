"""Which account a member has at a Site, for access over SSH (P30). Grants and publishes nothing."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.provisioning.application.account_ports import MemberAccountReads
from central.provisioning.domain.member_account import (
    Doubt,
    Evidence,
    HeldName,
    MemberAccount,
    MemberAccountAnswer,
    NoMemberAccount,
    Usable,
    one_account,
    usable,
)


class SiteMembers(Protocol):
    """Beto's members, as their Sites know them. What cannot be known raises `Unavailable`, a conflict too."""

    def name_at(self, site: Site, party: UUID, now: datetime) -> HeldName | None:
        """The Party's name at the Site; None where it is proven to have none."""
        ...

    def generation(self, project: UUID, site: Site, party: UUID, now: datetime) -> int | None:
        """The generation of an active member, by Beto's present decision; None for who is proven not one."""
        ...


class PersonMembers(SiteMembers, Protocol):
    """Beto's members, asked about one person."""

    def projects(self, party: UUID, now: datetime) -> Collection[UUID]:
        """The Projects the Party is or ever was a member of: in no other has it a generation."""
        ...


@dataclass(frozen=True, slots=True)
class FindMemberAccount:
    """The use case. `max_age` is RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS."""

    members: PersonMembers
    accounts: MemberAccountReads
    max_age: timedelta

    def __call__(self, site: Site, party: UUID, now: datetime) -> MemberAccountAnswer:
        """The account a new key may go to. Raises `Unavailable`, `CorruptState`."""
        held = self.members.name_at(site, party, now)
        if held is None:
            return NoMemberAccount.ACCOUNT_ABSENT
        if not held.active:
            return NoMemberAccount.NOT_ELIGIBLE
        doubts: list[str] = []
        evidence = self._eligible(site, party, now, doubts)
        if not evidence:
            return Doubt(doubts[0]) if doubts else NoMemberAccount.NOT_ELIGIBLE
        found = one_account(held, evidence, now, self.max_age)
        if doubts and found is NoMemberAccount.ACCOUNT_ABSENT:
            return Doubt(doubts[0])
        return found

    def of_former(self, site: Site, party: UUID, now: datetime) -> MemberAccount | Doubt | NoMemberAccount:
        """The account of whoever is or was a member, eligible or not: what a removal may be checked against.

        Raises `Unavailable`, `CorruptState`. A removal goes to its own saved target whatever this says.
        """
        held = self.members.name_at(site, party, now)
        if held is None:
            return NoMemberAccount.ACCOUNT_ABSENT
        evidence = [Evidence(found, None) for found in self.accounts.at_site(site, party)]
        holding = [one for one in evidence if one.found is not None and one.found.accounts]
        return one_account(held, holding or evidence, now, self.max_age)

    def _eligible(self, site: Site, party: UUID, now: datetime, doubts: list[str]) -> list[Evidence]:
        """What the sets of usable allocations hold; why others could not be judged goes to `doubts`."""
        generations: dict[UUID, int | None] = {}
        evidence: list[Evidence] = []
        try:
            projects = self.members.projects(party, now)
        except Unavailable as error:
            doubts.append(error.detail)
            return evidence
        for one in self.accounts.of_projects(site, projects, party) if projects else ():
            project, verdict = one.saved.allocation.facts.project_id, usable(one.saved, now)
            if project is None or verdict is Usable.NO:
                continue
            try:
                if project not in generations:
                    generations[project] = self.members.generation(project, site, party, now)
            except Unavailable as error:
                doubts.append(error.detail)
                continue
            generation = generations[project]
            if generation is None:
                continue
            if verdict is Usable.UNKNOWN:
                doubts.append("an allocation was not seen lately")
                continue
            evidence.append(Evidence(one.found, (generation,)))
        return evidence
