"""A Site asks for every member of the Projects it may know, in one answer (P15–P19, S8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.projects.application.ports import NamedMembers, ProjectDecisions, ProjectSites, ViewReads
from central.projects.application.project_at_site import projects_at_site
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.application.roster import PERMISSION
from central.projects.domain.authority import Deferred
from central.projects.domain.ids import PartyId, ProjectId
from central.projects.domain.roster import (
    NoMember,
    ProjectDecision,
    RosterAnswer,
    SiteMember,
    decide,
    provision,
    settled,
)
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, choose

MEMBERS_MAX: Final = 10_000
"""Rows of one Project (docs/wire.md)."""
MEMBERS_AT_ONCE: Final = 1_000
"""Memberships read for one answer about several Projects, unless a single one has more."""


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A member under a username of the Site."""

    username: str
    member: SiteMember


@dataclass(frozen=True, slots=True)
class MemberList:
    """Every member the Site may know, ordered by username, each username once."""

    project_id: ProjectId
    as_of: datetime
    members: Sequence[NamedMember]


Listed = MemberList | Unavailable | None
"""A Project's list, or why it cannot be told now, or the proven absence of the Project."""


@dataclass(frozen=True, slots=True)
class ListMembers:
    """The use case. None is a proven absence of the Project; each row is what `FindMember` would say of its
    username, and one that cannot be said makes the whole list `Unavailable`.
    """

    resolve: ResolveProjects
    sites: ProjectSites
    reads: ViewReads
    decisions: ProjectDecisions

    def __call__(
        self, site: Site, instance: str, provider_project_ref: str, now: datetime
    ) -> MemberList | None:
        """The list of one Project. Raises `Unavailable`."""
        (found,) = self.of_each(site, instance, [provider_project_ref], now)
        if isinstance(found, Unavailable):
            raise found
        return found

    def of_each(self, site: Site, instance: str, refs: Sequence[str], now: datetime) -> Sequence[Listed]:
        """The lists of several distinct refs, in order; one that cannot be told takes no other with it.

        Of the first ones that have `MEMBERS_AT_ONCE` members together, one at least: whoever asks goes on
        with the rest. Read from one snapshot; Beto is asked once for all whose membership it decides. Raises
        `Unavailable` where nothing can be told of any.
        """
        found = projects_at_site(self.resolve, self.sites, site, instance, refs)
        known = {project: None for project in found.values() if isinstance(project, UUID)}
        views = self._viewed(list(known), site, now)
        lists = dict(zip(views, self._lists(list(views.values()), now), strict=True))
        told: list[Listed] = []
        for ref in refs:
            project = found[ref]
            if isinstance(project, UUID) and project not in lists:
                break
            told.append(lists[project] if isinstance(project, UUID) else project)
        return told

    def _viewed(
        self, projects: Sequence[ProjectId], site: Site, now: datetime
    ) -> Mapping[ProjectId, NamedMembers | None]:
        views = self.reads.named_members(projects, site, now, most=MEMBERS_AT_ONCE) if projects else ()
        return dict(zip(projects, views, strict=False))  # the first ones

    def _lists(self, views: Sequence[NamedMembers | None], now: datetime) -> list[MemberList | Unavailable]:
        """Each Project's list, once Beto was asked for all of them."""
        rosters = [_roster(viewed) for viewed in views]
        asked = [pair for roster in rosters if isinstance(roster, _Roster) for pair in roster.candidates()]
        decisions = self.decisions.all_allowed(asked, PERMISSION)
        return [
            roster.listed(decisions, now) if isinstance(roster, _Roster) else roster for roster in rosters
        ]


@dataclass(frozen=True, slots=True)
class _Roster:
    """A Project's bindings, each with its answer where that needs no decision."""

    viewed: NamedMembers
    known: Mapping[SiteBinding, SiteMember | NoMember | None]

    def candidates(self) -> list[tuple[ProjectId, PartyId]]:
        """Whose membership Beto decides."""
        parties = sorted({binding.party_id for binding, answer in self.known.items() if answer is None})
        return [(self.viewed.project.project_id, party) for party in parties]

    def listed(
        self, decisions: Mapping[tuple[ProjectId, PartyId], ProjectDecision], now: datetime
    ) -> MemberList | Unavailable:
        """The list, or what stands in its way."""
        project, found = self.viewed.project, []
        for binding, known in self.known.items():
            answer: RosterAnswer | None = known
            if answer is None:
                party = binding.party_id
                decision = decisions[project.project_id, party]
                answer = decide(project, binding, self.viewed.memberships[party], decision, now)
                answer = provision(answer, self.viewed.authority, project, now)
            if isinstance(answer, Deferred):
                return Unavailable("unavailable", f"a member cannot be confirmed now: {answer}")
            if not isinstance(answer, NoMember):
                found.append(NamedMember(binding.username, answer))
        return MemberList(project.project_id, now, sorted(found, key=lambda row: row.username))


def _roster(viewed: NamedMembers | None) -> _Roster | Unavailable:
    if viewed is None:
        return Unavailable("unavailable", "the Project left the view while it was read")
    try:
        bindings = _bindings(viewed)
    except Unavailable as error:
        return error
    return _Roster(
        viewed,
        {
            binding: settled(viewed.project, binding, viewed.memberships.get(binding.party_id))
            for binding in bindings
        },
    )


def _bindings(viewed: NamedMembers) -> list[SiteBinding]:
    """The binding that holds each username. Raises `Unavailable` for a conflict and for too many."""
    if len(viewed.names) > MEMBERS_MAX:
        raise Unavailable("unavailable", f"the Project has more than {MEMBERS_MAX} names at the Site")
    found = []
    for named in viewed.names.values():
        binding = choose(named)
        if isinstance(binding, Conflict):
            raise Unavailable("unavailable", "several bindings hold one username at the Site")
        if not isinstance(binding, NoBinding):
            found.append(binding)
    return found
