"""From desired and observed to operations and verdicts (S7). Pure: the same inputs give the same plan.

1. Only single values are added or deleted; foreign values stay, byte for byte (B17).
2. A stored value that holds a wanted key in another rendering is that key: nothing is added (B15, B16).
3. A deletion names the exact stored bytes (B16).
4. A target that is not exactly the saved one is never touched; a recreated account is another one.
5. Several keys with one blob on one target: it stays while any of them is present, and is theirs: the
   revoked ones are gone.
6. A verdict is passed on what was read back, never on what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from site_bundle.kernel.ranges import NumberRange
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Outcome, Verdict
from site_bundle.ssh_access.domain.public_key import PublicKey
from site_bundle.ssh_access.domain.stored_value import blobs_in, value_lines
from site_bundle.ssh_access.domain.target import (
    Absent,
    Entries,
    Entry,
    Match,
    Matched,
    Mismatch,
    Unreadable,
    match_target,
)

# An entry's DN and a key's blob: the place one key has in the directory.
Spot = tuple[str, bytes]


class Change(StrEnum):
    """The two things the agent does to an entry."""

    ADD = "add"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Operation:
    """One value of one entry; `blobs` are the keys it is about, `key_id` is one whose wish it serves."""

    change: Change
    dn: str
    value: bytes
    blobs: tuple[bytes, ...]
    key_id: UUID

    @property
    def spots(self) -> frozenset[Spot]:
        return frozenset((self.dn, blob) for blob in self.blobs)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the agent may do now. `removals`: False while central's history is not the accepted one."""

    uids: NumberRange
    removals: bool = True


@dataclass(frozen=True, slots=True)
class Wish:
    """A desired key, parsed once for plan and verdict; `key` None: malformed."""

    desired: DesiredKey
    key: PublicKey | None


@dataclass(frozen=True, slots=True)
class _Case:
    """A wish with what it resolves to; `held`: the stored values of its entry by the keys they hold."""

    desired: DesiredKey
    key: PublicKey | None
    match: Match
    held: Mapping[bytes, Sequence[bytes]]

    @property
    def entry(self) -> Entry | None:
        return self.match.entry if self.key is not None and isinstance(self.match, Matched) else None

    @property
    def present(self) -> bool:
        return self.desired.act is Act.PRESENT


def read_wishes(keys: Sequence[DesiredKey]) -> tuple[Wish, ...]:
    """The desired keys, each parsed."""
    return tuple(Wish(key, key.parsed()) for key in keys)


def plan(wishes: Sequence[Wish], entries: tuple[Entry, ...], policy: Policy) -> tuple[Operation, ...]:
    """Operations that bring `entries` to what `wishes` (all of these targets) ask; additions first.

    Additions first, so that a member who replaces the only key is never without one.
    """
    cases = _resolve(wishes, entries, policy)
    additions: dict[Spot, Operation] = {}
    # Where a key is wanted nothing is deleted; and one operation serves all keys that share a blob.
    kept = _kept(cases)
    revoked: dict[str, dict[bytes, _Case]] = {}
    for case in cases:
        if case.entry is None or case.key is None:
            continue
        spot = (case.entry.dn, case.key.blob)
        if case.present and case.key.blob not in case.held:
            line = case.key.line.encode("ascii")
            additions.setdefault(
                spot, Operation(Change.ADD, case.entry.dn, line, (case.key.blob,), case.desired.key_id)
            )
        elif not case.present and policy.removals and spot not in kept:
            revoked.setdefault(case.entry.dn, {}).setdefault(case.key.blob, case)
    carried: list[Operation] = []
    deletions: list[Operation] = []
    for gone in revoked.values():
        _remove(gone, carried, deletions)
    return (*additions.values(), *carried, *deletions)


def _remove(gone: Mapping[bytes, _Case], carried: list[Operation], deletions: list[Operation]) -> None:
    """What takes the keys `gone` out of their one entry. A value that holds more than revoked keys: its other
    lines become values of their own before it goes.
    """
    case = next(iter(gone.values()))
    if case.entry is None:
        raise ValueError("a key is taken out of an entry")
    dn, there = case.entry.dn, set(case.entry.values)
    for value in dict.fromkeys(value for blob in gone for value in case.held.get(blob, ())):
        blobs = tuple(blob for blob in gone if value in case.held.get(blob, ()))
        key_id = gone[blobs[0]].desired.key_id
        for line in value_lines(value):
            others = blobs_in(line)
            if others and gone.keys().isdisjoint(others) and line not in there:
                there.add(line)
                carried.append(Operation(Change.ADD, dn, line, blobs, key_id))
        deletions.append(Operation(Change.DELETE, dn, value, blobs, key_id))


def judge(
    wishes: Sequence[Wish], entries: tuple[Entry, ...], policy: Policy, refused: frozenset[Spot]
) -> dict[UUID, Verdict]:
    """The verdict on each key from `entries` as read back.

    `refused`: where the directory refused a change for good.
    """
    cases = _resolve(wishes, entries, policy)
    kept = _kept(cases)
    return {case.desired.key_id: _judge_one(case, policy, kept, refused) for case in cases}


def _judge_one(case: _Case, policy: Policy, kept: set[Spot], refused: frozenset[Spot]) -> Verdict:
    if case.key is None:
        return Verdict(Outcome.REFUSED, "key_malformed")
    match case.match:
        case Mismatch(code=code):
            return Verdict(Outcome.REFUSED, code)
        case Unreadable():
            return Verdict(Outcome.PENDING, "entry_unreadable")
        case Absent(renewed=renewed):
            if case.present:
                return Verdict(Outcome.REFUSED, "target_mismatch" if renewed else "target_absent")
            return Verdict(Outcome.REMOVED)
        case Matched(entry=entry):
            there = case.key.blob in case.held
            if there is case.present:
                return Verdict(Outcome.APPLIED if there else Outcome.REMOVED)
            spot = (entry.dn, case.key.blob)
            return _judge_open(case, policy, kept=spot in kept, refused=spot in refused)


def _judge_open(case: _Case, policy: Policy, *, kept: bool, refused: bool) -> Verdict:
    """The directory is not (yet) as this key asks."""
    if not case.present and kept:
        return Verdict(Outcome.REMOVED)  # what stands there is the other key's
    if not case.present and not policy.removals:
        return Verdict(Outcome.HELD, "feed_not_accepted")
    if refused:
        return Verdict(Outcome.REFUSED, "directory_refused")
    return Verdict(Outcome.PENDING, "not_read_back")


def _resolve(wishes: Sequence[Wish], entries: tuple[Entry, ...], policy: Policy) -> tuple[_Case, ...]:
    index = Entries(entries)
    held: dict[str, Mapping[bytes, Sequence[bytes]]] = {}
    cases = []
    for wish in wishes:
        match = match_target(wish.desired.target, index, policy.uids)
        values: Mapping[bytes, Sequence[bytes]] = {}
        if isinstance(match, Matched):
            # Each stored value is read once, however many keys of the entry are asked about.
            values = held.get(match.entry.dn) or held.setdefault(match.entry.dn, _held(match.entry))
        cases.append(_Case(wish.desired, wish.key, match, values))
    return tuple(cases)


def _kept(cases: tuple[_Case, ...]) -> set[Spot]:
    """Entry and blob of every present key: no deletion may touch these."""
    return {
        (case.entry.dn, case.key.blob)
        for case in cases
        if case.present and case.entry is not None and case.key is not None
    }


def _held(entry: Entry) -> Mapping[bytes, Sequence[bytes]]:
    """By each key the stored values that let it in."""
    held: dict[bytes, list[bytes]] = {}
    for value in entry.values:
        for blob in blobs_in(value):
            held.setdefault(blob, []).append(value)
    return held
