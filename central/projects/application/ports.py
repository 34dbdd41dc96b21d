"""What the use cases of the view need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.kernel.paging import Manifest
from central.kernel.site_names import Site
from central.projects.domain.authority import Authority
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.membership import Membership
from central.projects.domain.project import Project
from central.projects.domain.revisions import Judgement, Told, Viewed
from central.projects.domain.roster import ProjectDecision
from central.projects.domain.site_binding import SiteBinding
from central.projects.domain.view import ScopeView, ViewLimits


class BetoTruth(Protocol):
    """Beto, asked about its own state."""

    def checkpoint(self, scope: Scope) -> Manifest:
        """What the whole scope is now, at or after the question. Raises `AnswerMalformed`."""
        ...

    def items(self, scope: Scope, manifest: Manifest) -> Sequence[Viewed]:
        """Every item of the snapshot, verified (`PagesDiffer`). Raises `SnapshotGone`, `AnswerMalformed`."""
        ...


class ProjectDecisions(Protocol):
    """Beto, asked whether a Party may do something in a Project (P15)."""

    def project_allowed(self, project: ProjectId, party: PartyId, permission: str) -> ProjectDecision:
        """Beto's decision. No answer is no decision: `Unavailable`."""
        ...

    def all_allowed(
        self, asked: Collection[tuple[ProjectId, PartyId]], permission: str
    ) -> Mapping[tuple[ProjectId, PartyId], ProjectDecision]:
        """As `project_allowed`, of several Parties in several Projects: every decision or none."""
        ...


@dataclass(frozen=True, slots=True)
class Applied:
    """What an event did. `repeated`: its effect had been committed before."""

    judgement: Judgement | None

    @property
    def repeated(self) -> bool:
        """Whether this message was seen before."""
        return self.judgement is None


@dataclass(frozen=True, slots=True)
class Swapped:
    """What a load or repair changed."""

    put: int
    dropped: int
    kept_newer: int


class PassLost(Exception):
    """Another load or repair of the scope began meanwhile; this one changes nothing (O3)."""


class ViewStore(Protocol):
    """The view in one database: items, generations and receipts in one transaction each time."""

    def state(self, scope: Scope) -> ScopeView:
        """The scope as it stands."""
        ...

    def apply(
        self, consumer: str, messages: Sequence[tuple[UUID, Told[Viewed]]], now: datetime
    ) -> Sequence[Applied]:
        """Applies each message once and in order, all of one scope: receipts, items and generations together
        (P13, P17). What became of each.
        """
        ...

    def forget_receipts(self, before: datetime) -> int:
        """Forgets receipts older than `before`; revisions hold what they held. How many went."""
        ...

    def compare(self, scope: Scope, manifest: Manifest, now: datetime) -> str | None:
        """None if the scope is exactly what the manifest says, and then it is current, checked at `now`.

        Otherwise the scope's own fingerprint.
        """
        ...

    def settle_if_explained(
        self, begun: ScopeView, manifest: Manifest, items: Sequence[Viewed], asked_at: datetime
    ) -> bool:
        """Whether the scope is the verified items and what was told since; then it is current. `PassLost`."""
        ...

    def diverge(self, scope: Scope, reason: str) -> None:
        """The scope is proven wrong: it answers no more until a repair."""
        ...

    def refuse(self, scope: Scope, position: int) -> None:
        """Beto spoke of this earlier moment, and is not followed there."""
        ...

    def accept_restored(self, scope: Scope) -> bool:
        """Beto was restored from a copy: its earlier position is accepted by the repair that follows. False,
        and nothing changed, where no earlier position was refused.
        """
        ...

    def begin(
        self, scope: Scope, now: datetime, limits: ViewLimits, *, looking: bool = False
    ) -> ScopeView | None:
        """Begins a load or repair, or a comparison item by item; None while another one holds the scope."""
        ...

    def release(self, begun: ScopeView, reason: str) -> None:
        """Ends a pass without result."""
        ...

    def swap(
        self, begun: ScopeView, manifest: Manifest, items: Sequence[Viewed], asked_at: datetime
    ) -> Swapped:
        """Replaces the scope by the verified items and what was told since; it is current. `PassLost`."""
        ...


@dataclass(frozen=True, slots=True)
class ProjectMembership:
    """A Project with one Party's membership and the Project's authority, read in one statement."""

    project: Project
    membership: Membership | None
    authority: Authority | None


@dataclass(frozen=True, slots=True)
class NamedMembers:
    """A Project, its authority and memberships; and for each username one of its Parties has at a Site, every
    binding that bears on the name, of whichever Party. All of one snapshot.
    """

    project: Project
    authority: Authority | None
    memberships: Mapping[PartyId, Membership]
    names: Mapping[str, Sequence[SiteBinding]]


class ViewReads(Protocol):
    """Reads of the view. Each raises `Unavailable` unless every scope it needs may answer at `now`."""

    def holders(
        self, provider: str, instance: str, refs: Collection[str], now: datetime
    ) -> Mapping[str, Collection[ProjectId]]:
        """The Projects that hold each ref (in comparable form), as far as there are any."""
        ...

    def bindings_of_username(self, site: Site, username: str, now: datetime) -> Sequence[SiteBinding]:
        """Every binding, of any Party, that names this username at the Site."""
        ...

    def bindings_of_party(self, site: Site, party: PartyId, now: datetime) -> Sequence[SiteBinding]:
        """Every binding of the Party at the Site."""
        ...

    def project_membership(
        self, project: ProjectId, party: PartyId, now: datetime
    ) -> ProjectMembership | None:
        """The Project as viewed, None if it is not in the view."""
        ...

    def named_members(
        self, projects: Sequence[ProjectId], site: Site, now: datetime, *, most: int
    ) -> Sequence[NamedMembers | None]:
        """Each Project's members by their names at the Site, None if the Project is not in the view; all of
        one snapshot. The first ones, in order, that have `most` members together, one at least.
        """
        ...

    def members(self, project: ProjectId, now: datetime) -> Sequence[Membership]:
        """Every membership of the Project, tombstones included, by Party."""
        ...


class ProjectSites(Protocol):
    """Knows where Projects have allocations (P19)."""

    def with_allocations(self, projects: Collection[ProjectId], site: Site) -> Collection[ProjectId]:
        """Those of the Projects that have an allocation at the Site, retired ones included."""
        ...


class PartyProjects(Protocol):
    """The view, read for one person."""

    def of_party(self, party: PartyId, now: datetime) -> Collection[ProjectId]:
        """The Projects the Party is or ever was a member of. `Unavailable` unless every scope may answer."""
        ...
