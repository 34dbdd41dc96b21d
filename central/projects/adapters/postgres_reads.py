"""`ViewReads` in PostgreSQL: every read asks first whether the scopes it needs may answer (P14, X1)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.errors import Unavailable
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.projects.adapters.rows import (
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

    def named_members(self, project: ProjectId, site: Site, now: datetime) -> NamedMembers | None:
        """See `ViewReads`."""
        params = {"project_id": project, "site": site}

        def read(tx: Transaction) -> NamedMembers | None:
            tx.execute(self._queries["one_snapshot"])
            self._require(tx, _ALL, now)
            row = tx.maybe(ProjectRow, self._queries["project_with_authority"], params)
            if row is None:
                return None
            memberships = tx.all(MembershipRow, self._queries["memberships"], {"ids": [project]})
            names = self._names(tx, site, [each.party_id for each in memberships])
            return NamedMembers(
                stored_project(project, row.project),
                stored_authority(project, row.authority) if row.authority is not None else None,
                {PartyId(each.party_id): each.membership() for each in memberships},
                names,
            )

        return self._database.run(read, repeatable=True)

    def _names(
        self, tx: Transaction, site: Site, parties: Sequence[UUID]
    ) -> Mapping[str, Sequence[SiteBinding]]:
        """For each username one of the Parties has at the Site, every binding that bears on it."""
        params: dict[str, object] = {"site": site, "parties": list(parties)}
        usernames = tx.all(UsernameRow, self._queries["usernames_of_parties"], params)
        params["usernames"] = [row.username for row in usernames]
        named = tx.all(NamingRow, self._queries["binding_ids_of_usernames"], params)
        params["ids"] = [row.binding_id for row in named]
        under: dict[UUID, list[SiteBinding]] = {}
        for row in tx.all(SiteBindingRow, self._queries["bindings_by_id"], params):
            under.setdefault(row.binding_id, []).append(row.binding())
        names: dict[str, list[SiteBinding]] = {}
        for naming in named:
            names.setdefault(naming.username, []).extend(under[naming.binding_id])
        return names

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
