"""What one pass read, each source as it is; unreadable is said, never left out (X1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from unicodedata import normalize
from uuid import UUID

from site_bundle.reporter.domain.amounts import Amounts
from site_bundle.reporter.domain.marker import Identity


class RowState(StrEnum):
    """The provider's state of a resource, as docs/wire.md writes it."""

    CREATING = "creating"
    OK = "ok"
    UPDATING = "updating"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    ERRED = "erred"


@dataclass(frozen=True, slots=True)
class Row:
    """One Waldur resource of the offering. `account` is the Slurm account, lower case; None = none yet.
    `used_node_hours`: what Waldur has of this month, as text; None where it has nothing.
    """

    resource_id: UUID
    project_id: UUID
    account: str | None
    state: RowState
    paused: bool
    used_node_hours: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Every row that could be read; `unreadable` names the others, by UUID where it is readable."""

    rows: tuple[Row, ...]
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Association:
    """A user's right to use an account. `user` as Slurm writes it."""

    id: int
    user: str
    partition: str
    comment: str


@dataclass(frozen=True, slots=True)
class SlurmAccount:
    """`limits`: GrpTRES of its own row, None when it cannot be translated exactly (X3)."""

    name: str
    parent: str
    limits: Amounts | None
    associations: tuple[Association, ...]


@dataclass(frozen=True, slots=True)
class Slurm:
    """The cluster. Accounts by lower-case name (W02, W28). `jobs`: what running jobs hold, by account; None
    for one that cannot be translated. `known`: components Slurm counts at all (W37).
    """

    accounts: Mapping[str, SlurmAccount]
    nodes: tuple[Amounts, ...]
    jobs: Mapping[str, tuple[Amounts | None, ...]]
    known: frozenset[str]

    def chain(self, name: str) -> Iterator[SlurmAccount]:
        """The account and those above it, nearest first; ends at one that is not shown."""
        seen: set[str] = set()
        while name and name not in seen and name in self.accounts:
            seen.add(name)
            yield self.accounts[name]
            name = self.accounts[name].parent


@dataclass(frozen=True, slots=True)
class Person:
    """A directory entry. A number or UUID that is None was not shown. `dn` empty: its usual place, right
    below the people's base under its one `uid`.
    """

    entry_uuid: UUID | None
    uid_number: int | None
    gid_number: int | None
    dn: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """People by each of their names; DNs of groups in the range by a member's name and by their GID.

    `folded`: names that stand there in another spelling, which a directory takes for the same (B03, E23).
    `usual`: somebody is shown, and everybody who is stands at the usual place. `doubts`: names of which
    something is not shown and its absence not proven, with the code that says so (X1).
    """

    people: Mapping[str, tuple[Person, ...]]
    memberships: Mapping[str, str]
    group_ids: Mapping[int, str]
    folded: frozenset[str] = frozenset()
    usual: bool = False
    doubts: Mapping[str, str] = field(default_factory=dict)


def fold(name: str) -> str:
    """As caseIgnoreMatch prepares a `uid` for comparison: case, width and composition of its letters and the
    blanks around it make no difference (RFC 4518).
    """
    return normalize("NFKC", name).casefold().strip()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a Project, as central knows them."""

    username: str
    party_id: UUID
    identity: Identity
    active: bool


@dataclass(frozen=True, slots=True)
class Retained:
    """An account that accepted work still needs."""

    project_id: UUID
    username: str
    party_id: UUID
    identity: Identity


@dataclass(frozen=True, slots=True)
class Project:
    """The members of one Project. `project_id` is Beto's."""

    project_id: UUID
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """What the journal says was applied to an association, and for which directory entry."""

    association_id: int
    entry_uuid: UUID
    party_id: UUID
    identity: Identity


@dataclass(frozen=True, slots=True)
class Sources:
    """All of a pass. `projects` by provider Project: None where the Project is proven unknown at central;
    a missing key is unavailable. `directory` and `retained` None: unavailable.
    """

    listing: Listing
    slurm: Slurm
    directory: Directory | None
    projects: Mapping[UUID, Project | None]
    retained: tuple[Retained, ...] | None
    applied: Mapping[int, Applied] = field(default_factory=dict)
