"""Projects as an operator lists and names them; `Unavailable` unless the view may answer (O1, X1)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.adapters.rows import stored_authority, stored_project
from central.projects.domain.authority import Authority
from central.projects.domain.ids import PartyId, ProjectId, Scope, comparable
from central.projects.domain.project import Project
from central.projects.domain.view import ViewLimits

_ALL: Final = frozenset(Scope)
_LISTED: Final = frozenset({Scope.PROJECTS, Scope.AUTHORITIES})
_NAMED: Final = frozenset({Scope.PROJECTS})


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A Project, the authority over it, and how many verified members it has now."""

    project: Project
    authority: Authority | None
    members: int


class ProjectListing(PostgresReads):
    """The reads. Safe to share between threads."""

    def __init__(self, database: Database, limits: ViewLimits) -> None:
        super().__init__(database, limits)
        self._listing = load_queries("central.projects", "listing.sql")

    def page(self, after: ProjectId | None, limit: int, now: datetime) -> Sequence[ListedProject]:
        """The next Projects in id order."""
        params = {"after": after or UUID(int=0), "limit": limit}

        def read(tx: Transaction) -> Sequence[ListedProject]:
            self._require(tx, _LISTED, now)
            return [row.listed() for row in tx.all(_ProjectRow, self._listing["projects_after"], params)]

        return self._database.run(read, repeatable=True)

    def named(self, text: str, now: datetime) -> Sequence[ProjectId]:
        """The Project of this id, otherwise those known at a provider by this name."""
        ref = comparable(text)
        params = {"ref": ref, "project_id": _uuid(ref)}

        def read(tx: Transaction) -> Sequence[ProjectId]:
            self._require(tx, _NAMED, now)
            return [ProjectId(row.id) for row in tx.all(_IdRow, self._listing["projects_named"], params)]

        return self._database.run(read, repeatable=True)

    def of_party(self, party: PartyId, now: datetime) -> Collection[ProjectId]:
        """See `PartyProjects`."""

        def read(tx: Transaction) -> Collection[ProjectId]:
            self._require(tx, _ALL, now)
            return self._of_party(tx, party)

        return self._database.run(read, repeatable=True)

    def ever_of_party(self, party: PartyId) -> Collection[ProjectId]:
        """As `of_party`, whether or not the view may answer: for who asks why (O1)."""
        return self._database.run(lambda tx: self._of_party(tx, party), repeatable=True)

    def _of_party(self, tx: Transaction, party: PartyId) -> Collection[ProjectId]:
        rows = tx.all(_IdRow, self._listing["projects_of_party"], {"party_id": party})
        return {ProjectId(row.id) for row in rows}


@dataclass(frozen=True, slots=True)
class _IdRow:
    id: UUID


@dataclass(frozen=True, slots=True)
class _ProjectRow:
    id: UUID
    project: str
    authority: str | None
    members: int

    def listed(self) -> ListedProject:
        authority = stored_authority(self.id, self.authority) if self.authority is not None else None
        return ListedProject(stored_project(self.id, self.project), authority, self.members)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
