"""The view as it is stored, for operators: read whether or not it may answer (O1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.projects.adapters.rows import (
    HolderRow,
    MembershipRow,
    ProjectRow,
    ScopeRow,
    SiteBindingRow,
    stored_authority,
    stored_project,
)
from central.projects.domain.authority import Authority
from central.projects.domain.ids import PartyId, ProjectId, Scope, comparable
from central.projects.domain.membership import Membership
from central.projects.domain.project import Project
from central.projects.domain.site_binding import SiteBinding
from central.projects.domain.view import ScopeView


@dataclass(frozen=True, slots=True)
class ViewedProject:
    """A Project as it is viewed, its authority, every membership it ever had."""

    project: Project | None
    authority: Authority | None
    memberships: Mapping[PartyId, Membership]


class ViewEvidence:
    """The reads, each in one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.projects", "view.sql")

    def scopes(self) -> Mapping[Scope, ScopeView]:
        """Every scope as it stands."""
        rows = self._database.run(lambda tx: tx.all(ScopeRow, self._queries["scopes"]), repeatable=True)
        views = [row.view() for row in rows]
        return {view.scope: view for view in views}

    def project(self, project: ProjectId) -> ViewedProject:
        """What is viewed of a Project."""

        def read(tx: Transaction) -> ViewedProject:
            params = {"ids": [project]}
            row = tx.maybe(ProjectRow, self._queries["projects_with_authority"], params)
            rows = tx.all(MembershipRow, self._queries["memberships"], params)
            return ViewedProject(
                stored_project(project, row.project) if row else None,
                stored_authority(project, row.authority) if row and row.authority is not None else None,
                {PartyId(each.party_id): each.membership() for each in rows},
            )

        return self._database.run(read, repeatable=True)

    def holders(self, provider: str, instance: str, ref: str) -> Sequence[ProjectId]:
        """The Projects that hold a provider's Project."""
        params = {"provider": provider, "instance": instance, "refs": [comparable(ref)]}
        rows = self._database.run(
            lambda tx: tx.all(HolderRow, self._queries["holders"], params), repeatable=True
        )
        return [ProjectId(row.project_id) for row in rows]

    def bindings(
        self, site: Site, *, party: PartyId | None = None, username: str | None = None
    ) -> Sequence[SiteBinding]:
        """Every binding at the Site of a Party, or of a username."""
        query = "bindings_of_party" if username is None else "bindings_of_username"
        params = {"site": site, "party_id": party, "username": username}
        rows = self._database.run(
            lambda tx: tx.all(SiteBindingRow, self._queries[query], params), repeatable=True
        )
        return [row.binding() for row in rows]
