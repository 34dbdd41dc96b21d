"""The verified member behind a username (P15, P19).

1. The site binding names the Party; the Project's generations say whether it is or was a member.
2. A retired binding, a tombstone or a closed Project is *retired*, whatever the authority; no membership
   ever is *absent*. These answers stand while the authority is pending.
3. *Active* is said only with ready, unexpired authority over the viewed revision and Beto's own decision
   that the Party is a member, made about that revision and still valid. Anything less defers: unavailable.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from central.projects.domain.authority import Authority, Deferred, deferral
from central.projects.domain.ids import BindingId, PartyId, ProjectId
from central.projects.domain.membership import Membership
from central.projects.domain.project import Lifecycle, Project
from central.projects.domain.site_binding import SiteBinding, Standing


@dataclass(frozen=True, slots=True)
class ProjectDecision:
    """Beto's answer to `project_allowed`."""

    allowed: bool
    project_revision: int
    management_generation: int
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class SiteMember:
    """What a Site is told of a member."""

    project_id: ProjectId
    party_id: PartyId
    binding_id: BindingId
    binding_revision: int
    generation: int
    standing: Standing


class NoMember(StrEnum):
    """Proven: the Party never was a member."""

    ABSENT = "absent"


RosterAnswer = SiteMember | NoMember | Deferred


def settled(
    project: Project, binding: SiteBinding, membership: Membership | None
) -> SiteMember | NoMember | None:
    """The answer that needs no authority; None where the Party may be an active member."""
    if membership is None:
        return NoMember.ABSENT
    in_force = (
        membership.present and binding.standing is Standing.ACTIVE and project.lifecycle is Lifecycle.ACTIVE
    )
    return None if in_force else _member(project, binding, membership, Standing.RETIRED)


def decide(
    project: Project,
    binding: SiteBinding,
    membership: Membership,
    decision: ProjectDecision,
    now: datetime,
) -> RosterAnswer:
    """The answer for a candidate that is not settled, by Beto's decision."""
    if decision.project_revision != project.revision:
        return Deferred.DECISION_OF_ANOTHER_REVISION
    if now >= decision.valid_until:
        return Deferred.DECISION_EXPIRED
    standing = Standing.ACTIVE if decision.allowed else Standing.RETIRED
    return _member(project, binding, membership, standing)


def provision(
    answer: RosterAnswer, authority: Authority | None, project: Project, now: datetime
) -> RosterAnswer:
    """What may be provisioned: an active member stands only under the Project's authority."""
    if isinstance(answer, SiteMember) and answer.standing is Standing.ACTIVE:
        return deferral(authority, project, now) or answer
    return answer


def _member(project: Project, binding: SiteBinding, membership: Membership, standing: Standing) -> SiteMember:
    return SiteMember(
        project.project_id,
        binding.party_id,
        binding.binding_id,
        binding.revision,
        membership.generation,
        standing,
    )
