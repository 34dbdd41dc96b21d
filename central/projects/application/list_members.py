"""A Site asks for every member of a Project it may know, in one answer (P15–P19, S8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.projects.application.ports import NamedMembers, ProjectDecisions, ProjectSites, ViewReads
from central.projects.application.project_at_site import project_at_site
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.application.roster import PERMISSION
from central.projects.domain.authority import Deferred
from central.projects.domain.ids import ProjectId
from central.projects.domain.roster import NoMember, SiteMember, decide, provision, settled
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, choose

MEMBERS_MAX: Final = 10_000
"""Rows of one answer (docs/wire.md)."""


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


@dataclass(frozen=True, slots=True)
class ListMembers:
    """The use case. None is a proven absence of the Project; each row is what `FindMember` would say of its
    username, and one that cannot be said makes the whole answer `Unavailable`.
    """

    resolve: ResolveProjects
    sites: ProjectSites
    reads: ViewReads
    decisions: ProjectDecisions

    def __call__(
        self, site: Site, instance: str, provider_project_ref: str, now: datetime
    ) -> MemberList | None:
        """The list, read from one snapshot. Beto is asked once for all whose membership it decides."""
        project = project_at_site(self.resolve, self.sites, site, instance, provider_project_ref)
        if project is None:
            return None
        viewed = self.reads.named_members(project, site, now)
        if viewed is None:
            raise Unavailable("unavailable", "the Project left the view while it was read")
        bindings = _bindings(viewed)
        members = self._members(viewed, bindings, now)
        return MemberList(project, now, sorted(members, key=lambda row: row.username))

    def _members(
        self, viewed: NamedMembers, bindings: Sequence[SiteBinding], now: datetime
    ) -> list[NamedMember]:
        known = {
            binding: settled(viewed.project, binding, viewed.memberships.get(binding.party_id))
            for binding in bindings
        }
        candidates = sorted({binding.party_id for binding, answer in known.items() if answer is None})
        decisions = self.decisions.parties_allowed(viewed.project.project_id, candidates, PERMISSION)
        found = []
        for binding, settled_answer in known.items():
            answer = settled_answer or provision(
                decide(
                    viewed.project,
                    binding,
                    viewed.memberships[binding.party_id],
                    decisions[binding.party_id],
                    now,
                ),
                viewed.authority,
                viewed.project,
                now,
            )
            if isinstance(answer, Deferred):
                raise Unavailable("unavailable", f"a member cannot be confirmed now: {answer}")
            if not isinstance(answer, NoMember):
                found.append(NamedMember(binding.username, answer))
        return found


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
