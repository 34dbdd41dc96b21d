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

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

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
    UidRange,
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
    """One value of one entry; `blob` is the key it is about, `key_id` whose wish it serves."""

    change: Change
    dn: str
    value: bytes
    blob: bytes
    key_id: UUID

    @property
    def spot(self) -> Spot:
        return self.dn, self.blob


@dataclass(frozen=True, slots=True)
class Policy:
    """What the agent may do now. `removals`: False while central's history is not the accepted one."""

    uids: UidRange
    removals: bool = True


@dataclass(frozen=True, slots=True)
class _Case:
    """A desired key with what it resolves to; `key` None: malformed."""

    desired: DesiredKey
    key: PublicKey | None
    match: Match

    @property
    def entry(self) -> Entry | None:
        return self.match.entry if self.key is not None and isinstance(self.match, Matched) else None

    @property
    def present(self) -> bool:
        return self.desired.act is Act.PRESENT


def plan(keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy) -> tuple[Operation, ...]:
    """Operations that bring `entries` to what `keys` (all desired keys of these targets) ask; additions
    first.

    Additions first, so that a member who replaces the only key is never without one.
    """
    additions: list[Operation] = []
    deletions: list[Operation] = []
    cases = _resolve(keys, entries, policy)
    # Where a key is wanted nothing is deleted; and one operation serves all keys that share a blob.
    done = _kept(cases)
    added: set[Spot] = set()
    for case in cases:
        if case.entry is None or case.key is None:
            continue
        spot = (case.entry.dn, case.key.blob)
        holding = _holding(case.entry, case.key.blob)
        if case.present:
            if not holding and spot not in added:
                added.add(spot)
                additions.append(_operation(Change.ADD, case, case.key.line.encode("ascii")))
        elif policy.removals and spot not in done:
            done.add(spot)
            for value in holding:
                others = _foreign_lines(case.entry, value, case.key.blob)
                additions.extend(_operation(Change.ADD, case, line) for line in others)
                deletions.append(_operation(Change.DELETE, case, value))
    return (*additions, *deletions)


def judge(
    keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy, refused: frozenset[Spot]
) -> dict[UUID, Verdict]:
    """The verdict on each key from `entries` as read back.

    `refused`: where the directory refused a change for good.
    """
    cases = _resolve(keys, entries, policy)
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
            there = bool(_holding(entry, case.key.blob))
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


def _resolve(keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy) -> tuple[_Case, ...]:
    index = Entries(entries)
    return tuple(_Case(key, key.parsed(), match_target(key.target, index, policy.uids)) for key in keys)


def _kept(cases: tuple[_Case, ...]) -> set[Spot]:
    """Entry and blob of every present key: no deletion may touch these."""
    return {
        (case.entry.dn, case.key.blob)
        for case in cases
        if case.present and case.entry is not None and case.key is not None
    }


def _holding(entry: Entry, blob: bytes) -> list[bytes]:
    """The stored values that let the key in."""
    return [value for value in entry.values if blob in blobs_in(value)]


def _operation(change: Change, case: _Case, value: bytes) -> Operation:
    if case.entry is None or case.key is None:
        raise ValueError("an operation needs an entry and a key")
    return Operation(change, case.entry.dn, value, case.key.blob, case.desired.key_id)


def _foreign_lines(entry: Entry, value: bytes, blob: bytes) -> list[bytes]:
    """A value that holds more than the revoked key: its other lines become values of their own before it
    goes.
    """
    others = [line for line in value_lines(value) if blob not in blobs_in(line)]
    return [line for line in others if blobs_in(line) and line not in entry.values]
