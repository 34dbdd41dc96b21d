"""Which accounts an allocation has: each proven in the directory and in Slurm, with the identity that was
applied to it (S8, P21–P23, P36).

1. An account's incarnation is (entryUUID, association id): another entry or another association is another
   account, whatever it is called.
2. Applied is what the association's comment and the journal say together, of this very incarnation. Neither
   a membership that was read nor a journal alone is evidence.
3. An account that is there under an older generation is reported under it; the newer one is pending until it
   is applied.
4. Proven absent is left out; what cannot be read, or may only be hidden, makes the whole set unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from site_bundle.reporter.domain.marker import Identity, read_marker
from site_bundle.reporter.domain.policy import POSIX_NAME, Policy
from site_bundle.reporter.domain.sources import (
    Applied,
    Association,
    Directory,
    Member,
    Person,
    Project,
    Retained,
    SlurmAccount,
)


class UnreadableSetError(Exception):
    """The set cannot be known whole; `code` says why, `name` of whom where it is one member."""

    def __init__(self, code: str, name: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Account:
    """One line of an account report."""

    party_id: UUID
    name: str
    native_uid: str
    uid_number: int | None
    identity: Identity
    ready: bool


@dataclass(frozen=True, slots=True)
class Apply:
    """An act that is due: `identity` is to be written to the association `association`."""

    account: str
    association: Association
    entry_uuid: UUID
    party_id: UUID
    identity: Identity


@dataclass(frozen=True, slots=True)
class Note:
    """Why one account is not ready, or not in the set; `code` of a closed set, `name` for the operator."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A complete set, what is to be applied, and what stands in the way of the rest."""

    accounts: tuple[Account, ...]
    applies: tuple[Apply, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """A directory entry; `fault` says what it lacks to be a member's account."""

    person: Person
    fault: str = ""


def decide_accounts(
    account: SlurmAccount,
    *,
    directory: Directory,
    project: Project,
    retained: Iterable[Retained] | None,
    applied: Mapping[int, Applied],
    policy: Policy,
) -> Decided:
    """The set of one allocation. UnreadableSetError when it cannot be known whole."""
    wanted = _Wanted(project, retained)
    accounts: list[Account] = []
    applies: list[Apply] = []
    notes: list[Note] = []
    held = _principal(account.associations)
    for name, association in sorted(held.items()):
        row, act, note = _of_association(
            account.name, association, _proof(directory, name, policy), wanted, applied
        )
        accounts += [row] if row else []
        applies += [act] if act else []
        notes += [note] if note else []
    for member in wanted.active():
        if member.username not in held:
            row, note = _without_association(member, _proof(directory, member.username, policy))
            accounts += [row] if row else []
            notes.append(note)
    if len({row.native_uid for row in accounts}) != len(accounts):
        raise UnreadableSetError("incarnation_twice")
    return Decided(tuple(accounts), tuple(applies), tuple(notes))


class _Wanted:
    """Who should have an account, and whose any binding is."""

    def __init__(self, project: Project, retained: Iterable[Retained] | None) -> None:
        self._members = {member.username: member for member in project.members}
        self.retained_known = retained is not None
        kept = [item for item in retained or () if item.project_id == project.project_id]
        self._kept: dict[str, list[Retained]] = {}
        for item in kept:
            self._kept.setdefault(item.username, []).append(item)
        self._parties = {member.identity.binding_id: member.party_id for member in project.members}
        self._parties.update({item.identity.binding_id: item.party_id for item in kept})

    def active(self) -> Iterator[Member]:
        return (member for member in self._members.values() if member.active)

    def of(self, name: str) -> tuple[UUID, Identity] | None:
        """Party and identity that `name` is to have now; a member's before a retained account's."""
        member = self._members.get(name)
        if member is not None and member.active:
            return member.party_id, member.identity
        kept = self._kept.get(name, [])
        return (kept[0].party_id, kept[0].identity) if len(kept) == 1 else None

    def party(self, identity: Identity, remembered: UUID) -> UUID | None:
        """Whose binding it is. One that nobody lists is dropped only if both lists could be read (S11)."""
        found = self._parties.get(identity.binding_id)
        return found if found is not None or self.retained_known else remembered


def _principal(associations: Iterable[Association]) -> dict[str, Association]:
    """One association a user: the one for every partition, else the oldest."""
    best: dict[str, Association] = {}
    for item in associations:
        name = item.user.lower()
        known = best.get(name)
        if known is None or (bool(item.partition), item.id) < (bool(known.partition), known.id):
            best[name] = item
    return best


def _proof(directory: Directory, name: str, policy: Policy) -> Proof | None:
    """What the directory proves of `name`; None: proven absent. UnreadableSetError."""
    found = directory.people.get(name, ())
    doubt = directory.doubts.get(name)
    if not found and name not in directory.folded:
        if doubt:
            raise UnreadableSetError(doubt, name)
        return None
    if len(found) != 1 or name in directory.folded:
        raise UnreadableSetError("entry_ambiguous", name)
    person = found[0]
    if person.entry_uuid is None or person.uid_number is None or person.gid_number is None:
        raise UnreadableSetError("entry_unreadable", name)
    if not POSIX_NAME.fullmatch(name):
        return Proof(person, "name_refused")
    if person.uid_number not in policy.uids:
        return Proof(person, "uid_out_of_range")
    if person.gid_number not in directory.group_ids and name not in directory.memberships:
        if doubt:
            raise UnreadableSetError(doubt, name)
        return Proof(person, "group_missing")
    return Proof(person)


def _of_association(
    account: str,
    association: Association,
    proof: Proof | None,
    wanted: _Wanted,
    applied: Mapping[int, Applied],
) -> tuple[Account | None, Apply | None, Note | None]:
    name = association.user.lower()
    due = wanted.of(name)
    if proof is None or proof.person.entry_uuid is None:
        return None, None, Note("entry_absent", name) if due else None
    if proof.fault == "name_refused":
        return None, None, Note(proof.fault, name)
    known = applied.get(association.id)
    evidence = _evidence(association, proof.person.entry_uuid, known)
    act = None
    if due is not None and evidence != due[1] and not proof.fault:
        act = Apply(account, association, proof.person.entry_uuid, *due)
    party = None
    if evidence is not None and known is not None:
        party = wanted.party(evidence, known.party_id)
    if evidence is not None and party is not None:
        code = proof.fault or ("generation_pending" if act else "")
        row = _row(party, name, association, proof, evidence, ready=not proof.fault)
        return row, act, Note(code, name) if code else None
    if due is not None:
        row = _row(due[0], name, association, proof, due[1], ready=False)
        return row, act, Note(proof.fault or "not_applied", name)
    return None, None, Note("binding_unknown", name) if evidence is not None else None


def _evidence(association: Association, entry_uuid: UUID, known: Applied | None) -> Identity | None:
    """What was applied to this incarnation: the comment, if the journal says the same of it."""
    marker = read_marker(association.comment)
    same = known is not None and known.entry_uuid == entry_uuid and known.identity == marker
    return marker if same else None


def _row(
    party: UUID, name: str, association: Association, proof: Proof, identity: Identity, *, ready: bool
) -> Account:
    native = f"{proof.person.entry_uuid}/{association.id}"
    return Account(party, name, native, proof.person.uid_number, identity, ready)


def _without_association(member: Member, proof: Proof | None) -> tuple[Account | None, Note]:
    """A member whom Slurm does not know in this account: there in part, or not at all (A48)."""
    if proof is None:
        return None, Note("entry_absent", member.username)
    if proof.fault == "name_refused":
        return None, Note(proof.fault, member.username)
    native, uid = str(proof.person.entry_uuid), proof.person.uid_number
    row = Account(member.party_id, member.username, native, uid, member.identity, ready=False)
    return row, Note("association_missing", member.username)
