"""What the Site intake lists of members and accounts, schema 1 (docs/wire.md; X10): exact in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from site_bundle.kernel.documents import Between, Length, write_document
from site_bundle.kernel.times import parse_time
from site_bundle.reporter.domain.marker import Identity
from site_bundle.reporter.domain.sources import Member, Project, Retained

MAX_MEMBERS = 10_000
MAX_PROJECTS = 1000
PROJECT_UNKNOWN = "project_unknown"

Count = Annotated[int, Between(0, 2**63 - 1)]
Positive = Annotated[int, Between(1, 2**63 - 1)]
# As long as Beto's; whether it can be a login name is decided later.
Username = Annotated[str, Length(1, 255)]


@dataclass(frozen=True, slots=True)
class MemberBody:
    username: Username
    party_id: UUID
    binding_id: UUID
    binding_revision: Positive
    generation: Positive
    state: Literal["active", "retired"]


@dataclass(frozen=True, slots=True)
class OneProjectBody:
    provider_project_ref: str
    project_id: UUID | None
    code: Literal["project_unknown", "unavailable"] | None
    count: Count
    members: Annotated[tuple[MemberBody, ...], Length(0, MAX_MEMBERS)]

    def project(self) -> Project | str:
        """The list, or the code why there is none; ValueError when it is not whole, ordered and distinct
        (S8).
        """
        if self.count != len(self.members):
            raise ValueError("a list that does not match its count")
        if self.project_id is None:
            if self.code is None or self.members:
                raise ValueError("a Project without an id, or members of none")
            return self.code
        if self.code is not None:
            raise ValueError("a Project with a code")
        names = [item.username for item in self.members]
        if sorted(set(names)) != names:
            raise ValueError("usernames that are not ordered and distinct")
        members = [
            Member(
                item.username,
                item.party_id,
                Identity(item.binding_id, item.generation),
                item.state == "active",
            )
            for item in self.members
        ]
        return Project(self.project_id, tuple(members))


@dataclass(frozen=True, slots=True)
class ProjectMembersBody:
    schema: Literal[1]
    as_of: str
    projects: Annotated[tuple[OneProjectBody, ...], Length(1, MAX_PROJECTS)]

    def checked(self, asked: Sequence[str]) -> Sequence[Project | str]:
        """The first of those asked for; ValueError when they are others."""
        parse_time(self.as_of)
        refs = [item.provider_project_ref for item in self.projects]
        if refs != list(asked[: len(refs)]):
            raise ValueError("Projects that were not asked for, or another order")
        return [item.project() for item in self.projects]


@dataclass(frozen=True, slots=True)
class ProjectsAskedBody:
    schema: Literal[1]
    provider_project_refs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetainedBody:
    project_id: UUID
    party_id: UUID
    binding_id: UUID
    generation: Positive
    username: Username


@dataclass(frozen=True, slots=True)
class RetainedListBody:
    schema: Literal[1]
    site: str
    as_of: str
    count: Count
    accounts: tuple[RetainedBody, ...]

    def checked(self, site: str) -> tuple[Retained, ...]:
        """The list; ValueError when it is another Site's, or not whole, ordered and distinct (P28)."""
        parse_time(self.as_of)
        if self.site != site:
            raise ValueError("the list of another Site")
        if self.count != len(self.accounts):
            raise ValueError("a list that does not match its count")
        keys = [
            (str(item.project_id), str(item.party_id), str(item.binding_id), item.generation, item.username)
            for item in self.accounts
        ]
        if sorted(set(keys)) != keys:
            raise ValueError("accounts that are not ordered and distinct")
        return tuple(
            Retained(
                item.project_id, item.username, item.party_id, Identity(item.binding_id, item.generation)
            )
            for item in self.accounts
        )


def encode_projects_asked(wanted: Sequence[UUID]) -> bytes:
    """The body of `POST …/project-members`."""
    return write_document(ProjectsAskedBody(1, tuple(str(one) for one in wanted)))
