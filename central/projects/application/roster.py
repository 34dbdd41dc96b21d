"""`MemberRoster` and `ProvisioningRoster`: who is a member of a Project, as a Site knows them (P15)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from central.projects.application.ports import ProjectDecisions, ProjectMembership, ViewReads
from central.projects.domain.ids import ProjectId
from central.projects.domain.roster import NoMember, RosterAnswer, decide, provision, settled
from central.projects.domain.site_binding import SiteBinding

PERMISSION: Final = "project.member"


@dataclass(frozen=True, slots=True)
class MemberRoster:
    """The use case: site binding, generation and, for a candidate, Beto's decision."""

    reads: ViewReads
    decisions: ProjectDecisions

    def __call__(self, project: ProjectId, binding: SiteBinding, now: datetime) -> RosterAnswer:
        """The member behind the binding. Beto is asked only where its decision matters."""
        viewed = self.reads.project_membership(project, binding.party_id, now)
        return NoMember.ABSENT if viewed is None else self.of(viewed, binding, now)

    def of(self, viewed: ProjectMembership, binding: SiteBinding, now: datetime) -> RosterAnswer:
        """As a call, for a Project that was read already."""
        known = settled(viewed.project, binding, viewed.membership)
        if known is not None or viewed.membership is None:
            return known or NoMember.ABSENT
        decision = self.decisions.project_allowed(viewed.project.project_id, binding.party_id, PERMISSION)
        return decide(viewed.project, binding, viewed.membership, decision, now)


@dataclass(frozen=True, slots=True)
class ProvisioningRoster:
    """The use case: as `MemberRoster`, and an active member only under the Project's authority."""

    roster: MemberRoster

    def __call__(self, project: ProjectId, binding: SiteBinding, now: datetime) -> RosterAnswer:
        """The member that may be provisioned. Without authority over the viewed revision it defers."""
        viewed = self.roster.reads.project_membership(project, binding.party_id, now)
        if viewed is None:
            return NoMember.ABSENT
        answer = self.roster.of(viewed, binding, now)
        return provision(answer, viewed.authority, viewed.project, now)
