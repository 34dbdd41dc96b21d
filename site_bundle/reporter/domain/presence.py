"""Hidden or gone: what the directory showed before and does not show now (X1).

A search that succeeds does not say that it was whole: slapd leaves out what its rules hide and says nothing
of it. So whatever was shown once, or has an association in Slurm, is asked for by its own name before its
absence is believed; only what can be asked and is answered is proven.

1. Asked for are names whose presence would change a report (`Concern`), and of them only those that are
   missing: the number of questions does not grow with the number of accounts, and has a limit.
2. Whom neither the journal nor Slurm knows is not asked for: nothing ever said that he is there.
3. Without the journal an entry is asked for at its usual place, which proves its absence only where every
   entry that is shown stands at its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from uuid import UUID

from site_bundle.reporter.domain.policy import POSIX_NAME
from site_bundle.reporter.domain.sources import (
    Directory,
    Listing,
    Person,
    Project,
    Retained,
    RowState,
    Slurm,
)

ENTRY_HIDDEN, GROUP_HIDDEN, UNPROVEN = "entry_hidden", "group_hidden", "absence_unproven"
DOUBTS = frozenset({ENTRY_HIDDEN, GROUP_HIDDEN, UNPROVEN})


class Presence(StrEnum):
    """The answer to a claim: proven absent, there without being shown, or neither said."""

    GONE = "gone"
    THERE = "there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry and what is true of it while the claim holds: pairs of attribute and value. `dn` empty: the
    usual place of the person `name`.
    """

    name: str
    dn: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What the directory last showed under a name, and what became of it since.

    `dn` empty: at its usual place. `group_dn` empty: no group was shown; `group_gid` None: it was in that
    group by memberUid. `gone`: proven absent later. `accepted`: an administrator says that what is not shown
    of it is absent.
    """

    name: str
    dn: str = ""
    group_dn: str = ""
    group_gid: int | None = None
    gone: bool = False
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Concern:
    """Whose presence would change a report (`relevant`), and who has an association with an allocation."""

    relevant: frozenset[str]
    held: frozenset[str]


@dataclass(slots=True)
class Compared:
    """The journal beside the directory: rows it does not show, rows whose group it does not show, and rows
    to be written.
    """

    missing: list[Known] = field(default_factory=list)
    groupless: list[Known] = field(default_factory=list)
    changed: list[Known] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Question:
    """A claim, and the row it is asked for; `stranger`: the journal does not know the name."""

    claim: Claim
    row: Known
    stranger: bool = False

    @property
    def of_group(self) -> bool:
        return self.claim.dn == self.row.group_dn != ""


@dataclass(slots=True)
class Judged:
    """Names whose absence is not proven, with the code of each; and rows to be written."""

    doubts: dict[str, str] = field(default_factory=dict)
    changed: list[Known] = field(default_factory=list)


def concern(
    listing: Listing,
    slurm: Slurm,
    projects: Mapping[UUID, Project | None],
    retained: Iterable[Retained],
    applied: Iterable[int],
) -> Concern:
    """Members, holders of retained accounts, and whoever has an applied association."""
    known = frozenset(applied)
    relevant = {item.username for item in retained}
    for project in projects.values():
        if project is not None:
            relevant.update(member.username for member in project.members if member.active)
    held: set[str] = set()
    for row in listing.rows:
        account = slurm.accounts.get(row.account or "")
        if account is None or row.state is RowState.TERMINATED:
            continue
        for item in account.associations:
            held.add(item.user.lower())
            if item.id in known:
                relevant.add(item.user.lower())
    return Concern(frozenset(filter(POSIX_NAME.fullmatch, relevant)), frozenset(held))


def compare(directory: Directory, known: Iterable[Known], of: Concern) -> Compared:
    """Reads `known` once."""
    found = Compared()
    seen: set[str] = set()
    for row in known:
        seen.add(row.name)
        person = _sole(directory, row.name)
        if person is None:
            if row.name not in directory.people:
                found.missing.append(row)
            continue
        shown = _shown(directory, row.name, person)
        if not shown.group_dn and row.group_dn:
            shown = replace(row, dn=shown.dn, gone=False)
            found.groupless.append(shown)
        if shown != row:
            found.changed.append(shown)
    for name in directory.people:
        person = _sole(directory, name) if name not in seen else None
        if person is not None:
            found.changed.append(_shown(directory, name, person))
    unseen = (of.relevant & of.held) - seen - directory.people.keys() - directory.folded
    found.strangers = sorted(unseen)
    return found


def questions(compared: Compared, of: Concern) -> list[Question]:
    """What is asked, the most urgent first: what was proven absent before comes last."""
    asked = [
        Question(_of_entry(row), row)
        for row in compared.missing
        if row.name in of.relevant and not row.accepted
    ]
    asked += [
        Question(_of_group(row), row)
        for row in compared.groupless
        if row.name in of.relevant and not row.accepted
    ]
    asked += [Question(_of_entry(row), row, stranger=True) for row in map(Known, compared.strangers)]
    return sorted(asked, key=lambda question: question.row.gone)


def judge(asked: Sequence[Question], answers: Sequence[Presence], *, usual: bool) -> Judged:
    """`answers` to the first of `asked`. What was proven absent and could not be asked again stands."""
    judged = Judged()
    for question, answer in zip(asked, answers, strict=False):
        row = question.row
        believed = answer is Presence.GONE and (usual or not question.stranger)
        if answer is Presence.THERE:
            judged.doubts[row.name] = GROUP_HIDDEN if question.of_group else ENTRY_HIDDEN
        elif not believed:
            judged.doubts[row.name] = UNPROVEN
        if not question.stranger:
            judged.changed.extend(_after(question, gone=believed))
    for question in asked[len(answers) :]:
        if not question.row.gone:
            judged.doubts[question.row.name] = UNPROVEN
    return judged


def _after(question: Question, *, gone: bool) -> Iterator[Known]:
    """The row once it was asked for, if it is another."""
    row = question.row
    if question.of_group:
        if gone:
            yield replace(row, group_dn="", group_gid=None)
    elif row.gone != gone:
        yield replace(row, gone=gone)


def _sole(directory: Directory, name: str) -> Person | None:
    found = directory.people.get(name, ())
    return found[0] if len(found) == 1 else None


def _shown(directory: Directory, name: str, person: Person) -> Known:
    gid = person.gid_number
    if gid is not None and gid in directory.group_ids:
        return Known(name, person.dn, directory.group_ids[gid], gid)
    return Known(name, person.dn, directory.memberships.get(name, ""))


def _of_entry(row: Known) -> Claim:
    return Claim(row.name, row.dn, (("uid", row.name), ("objectClass", "posixAccount")))


def _of_group(row: Known) -> Claim:
    value = ("memberUid", row.name) if row.group_gid is None else ("gidNumber", str(row.group_gid))
    return Claim(row.name, row.group_dn, (value, ("objectClass", "posixGroup")))
