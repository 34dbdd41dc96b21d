"""`ViewReads` in PostgreSQL: every read asks first whether the scopes it needs may answer (P14, X1)."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.errors import Unavailable
from central.kernel.queries import Queries, load_queries
from central.kernel.site_names import Site
from central.projects.adapters.rows import (
    CountRow,
    HolderRow,
    MembershipRow,
    NamingRow,
    ProjectMembershipRow,
    ProjectRow,
    ScopeRow,
    SiteBindingRow,
    UsernameRow,
    stored_authority,
    stored_project,
)
from central.projects.application.ports import NamedMembers, ProjectMembership
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.membership import Membership
from central.projects.domain.site_binding import SiteBinding
from central.projects.domain.view import ViewLimits

_ALL: Final = frozenset(Scope)
_PROJECTS: Final = frozenset({Scope.PROJECTS})
_PARTIES: Final = frozenset({Scope.PARTIES})


class PostgresReads:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database, limits: ViewLimits) -> None:
        self._database = database
        self._limits = limits
        self._queries = load_queries("central.projects", "view.sql")

    def holders(
        self, provider: str, instance: str, refs: Collection[str], now: datetime
    ) -> Mapping[str, Collection[ProjectId]]:
        """See `ViewReads`."""
        params = {"provider": provider, "instance": instance, "refs": list(refs)}

        def read(tx: Transaction) -> Mapping[str, Collection[ProjectId]]:
            self._require(tx, _PROJECTS, now)
            found: dict[str, set[ProjectId]] = {}
            for row in tx.all(HolderRow, self._queries["holders"], params):
                found.setdefault(row.ref, set()).add(ProjectId(row.project_id))
            return found

        return self._database.run(read, repeatable=True)

    def bindings_of_username(self, site: Site, username: str, now: datetime) -> Sequence[SiteBinding]:
        """See `ViewReads`."""
        return self._bindings("bindings_of_username", {"site": site, "username": username}, now)

    def bindings_of_party(self, site: Site, party: PartyId, now: datetime) -> Sequence[SiteBinding]:
        """See `ViewReads`."""
        return self._bindings("bindings_of_party", {"site": site, "party_id": party}, now)

    def _bindings(self, query: str, params: Mapping[str, object], now: datetime) -> Sequence[SiteBinding]:
        def read(tx: Transaction) -> Sequence[SiteBinding]:
            self._require(tx, _PARTIES, now)
            return [row.binding() for row in tx.all(SiteBindingRow, self._queries[query], params)]

        return self._database.run(read, repeatable=True)

    def project_membership(
        self, project: ProjectId, party: PartyId, now: datetime
    ) -> ProjectMembership | None:
        """See `ViewReads`."""
        params = {"project_id": project, "party_id": party}

        def read(tx: Transaction) -> ProjectMembership | None:
            self._require(tx, _ALL, now)
            row = tx.maybe(ProjectMembershipRow, self._queries["project_membership"], params)
            if row is None:
                return None
            authority = stored_authority(project, row.authority) if row.authority is not None else None
            return ProjectMembership(stored_project(project, row.project), row.membership(), authority)

        return self._database.run(read, repeatable=True)

    def named_members(
        self, projects: Sequence[ProjectId], site: Site, now: datetime, *, most: int
    ) -> Sequence[NamedMembers | None]:
        """See `ViewReads`."""

        def read(tx: Transaction) -> Sequence[NamedMembers | None]:
            tx.execute(self._queries["one_snapshot"])
            self._require(tx, _ALL, now)
            asked = self._first(tx, projects, most)
            rows = tx.all(ProjectRow, self._queries["projects_with_authority"], {"ids": asked})
            viewed = {row.project_id: row for row in rows}
            memberships: dict[UUID, list[MembershipRow]] = {}
            for each in tx.all(MembershipRow, self._queries["memberships"], {"ids": asked}):
                memberships.setdefault(each.project_id, []).append(each)
            parties = {each.party_id for found in memberships.values() for each in found}
            names = _Names(tx, self._queries, site, sorted(parties))
            return [
                _named(viewed[project], memberships.get(project, ()), names) if project in viewed else None
                for project in asked
            ]

        return self._database.run(read, repeatable=True)

    def _first(self, tx: Transaction, projects: Sequence[ProjectId], most: int) -> Sequence[ProjectId]:
        """The first of the Projects that have `most` members together, one at least."""
        rows = tx.all(CountRow, self._queries["membership_counts"], {"ids": list(projects)})
        counts = {row.project_id: row.members for row in rows}
        sums = list(accumulate(counts.get(project, 0) for project in projects))
        return projects[: max(1, bisect_right(sums, most))]

    def members(self, project: ProjectId, now: datetime) -> Sequence[Membership]:
        """See `ViewReads`."""

        def read(tx: Transaction) -> Sequence[Membership]:
            self._require(tx, _PROJECTS, now)
            rows = tx.all(MembershipRow, self._queries["memberships"], {"ids": [project]})
            return [row.membership() for row in rows]

        return self._database.run(read, repeatable=True)

    def _require(self, tx: Transaction, scopes: Collection[Scope], now: datetime) -> None:
        """Raises `Unavailable` unless the whole view was loaded and `scopes` may answer now."""
        for row in tx.all(ScopeRow, self._queries["scopes"]):
            view = row.view()
            reason = view.unusable(now, self._limits)
            if reason is not None and (view.scope in scopes or view.position is None):
                raise Unavailable("unavailable", f"{reason}; try again later", retry_after=30)


class _Names:
    """The usernames Parties have at a Site, and every binding, of whichever Party, that bears on one."""

    def __init__(self, tx: Transaction, queries: Queries, site: Site, parties: Sequence[UUID]) -> None:
        params: dict[str, object] = {"site": site, "parties": list(parties)}
        self._of_party: dict[UUID, list[str]] = {}
        for row in tx.all(UsernameRow, queries["usernames_of_parties"], params):
            self._of_party.setdefault(row.party_id, []).append(row.username)
        params["usernames"] = sorted({name for names in self._of_party.values() for name in names})
        naming = tx.all(NamingRow, queries["binding_ids_of_usernames"], params)
        params["ids"] = [row.binding_id for row in naming]
        under: dict[UUID, list[SiteBinding]] = {}
        for binding in tx.all(SiteBindingRow, queries["bindings_by_id"], params):
            under.setdefault(binding.binding_id, []).append(binding.binding())
        self._bindings: dict[str, list[SiteBinding]] = {}
        for named in naming:
            self._bindings.setdefault(named.username, []).extend(under[named.binding_id])

    def of(self, parties: Collection[UUID]) -> Mapping[str, Sequence[SiteBinding]]:
        """By each username one of the Parties has."""
        return {name: self._bindings[name] for party in parties for name in self._of_party.get(party, ())}


def _named(row: ProjectRow, memberships: Sequence[MembershipRow], names: _Names) -> NamedMembers:
    project = ProjectId(row.project_id)
    return NamedMembers(
        stored_project(project, row.project),
        stored_authority(project, row.authority) if row.authority is not None else None,
        {PartyId(each.party_id): each.membership() for each in memberships},
        names.of([each.party_id for each in memberships]),
    )
