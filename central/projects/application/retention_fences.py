"""What the view says of accounts that accepted work was accepted with (P28): many at once, in one moment.

1. A Project or binding the view does not hold, a Project nobody told the authority of, a Party that never was
   a member, a binding of somebody else or in conflict: not an answer, and never "not established".
2. What is told is the view's present word; whether it fences an account is the asker's rule.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from central.kernel.site_names import Site
from central.projects.domain.authority import Authority
from central.projects.domain.ids import BindingId, PartyId, ProjectId
from central.projects.domain.membership import Membership
from central.projects.domain.project import Lifecycle, Project
from central.projects.domain.site_binding import Conflict, SiteBinding, Standing, choose


@dataclass(frozen=True, slots=True)
class AccountHolder:
    """Whose account it is."""

    project_id: ProjectId
    party_id: PartyId
    site: Site
    binding_id: BindingId


@dataclass(frozen=True, slots=True)
class AccountFences:
    """The view's word. `username` is None if the site binding is not established."""

    project_active: bool
    management_generation: int
    generation: int
    username: str | None


@dataclass(frozen=True, slots=True)
class NotViewed:
    """Why the view cannot say it."""

    reason: str


@dataclass(frozen=True, slots=True)
class FenceView:
    """What a snapshot of the view holds of some holders. `bindings`: every site binding under an id that was
    asked for, and every one at the same Site under the same name.
    """

    projects: Mapping[ProjectId, tuple[Project, Authority | None]]
    memberships: Mapping[tuple[ProjectId, PartyId], Membership]
    bindings: Sequence[SiteBinding]


class FenceReads(Protocol):
    """The view, read for this."""

    def fence_view(self, holders: Collection[AccountHolder], now: datetime) -> FenceView:
        """All of one snapshot. Raises `Unavailable` unless every scope may answer at `now`."""
        ...


@dataclass(frozen=True, slots=True)
class RetentionFences:
    """The use case."""

    reads: FenceReads

    def of(
        self, holders: Collection[AccountHolder], now: datetime
    ) -> Mapping[AccountHolder, AccountFences | NotViewed]:
        """Every holder's. `Unavailable` while the view may not answer, also for nobody."""
        view = self.reads.fence_view(holders, now)
        ids: dict[BindingId, list[SiteBinding]] = {}
        names: dict[tuple[Site, str], list[SiteBinding]] = {}
        for binding in view.bindings:
            ids.setdefault(binding.binding_id, []).append(binding)
            names.setdefault((binding.site, binding.username), []).append(binding)
        return {holder: _fences(holder, view, ids, names) for holder in holders}


def _fences(
    holder: AccountHolder,
    view: FenceView,
    ids: Mapping[BindingId, Sequence[SiteBinding]],
    names: Mapping[tuple[Site, str], Sequence[SiteBinding]],
) -> AccountFences | NotViewed:
    project, authority = view.projects.get(holder.project_id, (None, None))
    membership = view.memberships.get((holder.project_id, holder.party_id))
    if project is None:
        return NotViewed("accepted work names a Project that is not in the view")
    if authority is None:
        return NotViewed("accepted work names a Project whose authority was not told")
    if membership is None:
        return NotViewed("accepted work names a Party that never was a member of its Project")
    username = _username(holder, ids.get(holder.binding_id, ()), names)
    if isinstance(username, NotViewed):
        return username
    return AccountFences(
        project.lifecycle is Lifecycle.ACTIVE,
        authority.management_generation,
        membership.generation,
        username,
    )


def _username(
    holder: AccountHolder,
    found: Sequence[SiteBinding],
    names: Mapping[tuple[Site, str], Sequence[SiteBinding]],
) -> str | NotViewed | None:
    mine = [each for each in found if (each.party_id, each.site) == (holder.party_id, holder.site)]
    if not mine:
        return NotViewed("accepted work names a site binding that is not in the view")
    if len(found) > 1:
        return NotViewed("a site binding of accepted work is in conflict")
    (binding,) = found
    if binding.standing is not Standing.ACTIVE:
        return None
    if choose(names[binding.site, binding.username]) is Conflict.CONFLICT:
        return NotViewed("several bindings hold a username of accepted work")
    return binding.username
