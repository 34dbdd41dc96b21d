"""Short forms of the view's values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from central.kernel.site_names import Site
from central.projects.domain.authority import Authority, AuthorityState
from central.projects.domain.ids import BindingId, PartyId, ProjectId
from central.projects.domain.membership import Membership
from central.projects.domain.project import BindingRef, Lifecycle, ListedMember, Project
from central.projects.domain.site_binding import SiteBinding, Standing

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
SITE = Site("slurm")


def uuid(number: int) -> UUID:
    return UUID(int=number)


def party(number: int) -> PartyId:
    return PartyId(uuid(number))


def binding_id(number: int) -> BindingId:
    return BindingId(uuid(0x1000 + number))


def ref(number: int, revision: int = 1) -> BindingRef:
    return BindingRef(binding_id(number), revision)


def project(
    revision: int = 7,
    *members: ListedMember,
    number: int = 1,
    lifecycle: Lifecycle = Lifecycle.ACTIVE,
) -> Project:
    return Project(ProjectId(uuid(number)), revision, lifecycle, (), members)


def member(number: int, binding: BindingRef | None = None) -> ListedMember:
    return ListedMember(party(number), binding)


def membership(number: int = 1, generation: int = 1, *, present: bool = True) -> Membership:
    return Membership(party(number), generation, binding_id(number), 1, present)


def authority(
    revision: int = 7,
    state: AuthorityState = AuthorityState.READY,
    seconds: float = 60,
    *,
    management: int = 1,
) -> Authority:
    expires = NOW + timedelta(seconds=seconds) if state is AuthorityState.READY else None
    return Authority(ProjectId(uuid(1)), revision, state, expires, management)


def site_binding(
    number: int = 1, binding: int = 1, standing: Standing = Standing.ACTIVE, username: str = "u1"
) -> SiteBinding:
    return SiteBinding(party(number), binding_id(binding), 4, SITE, username, standing)
