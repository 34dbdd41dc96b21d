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
from site_bundle.ssh_access.domain.stored_value import blobs_in, value_lines
from site_bundle.ssh_access.domain.target import (
    Absent,
    Entry,
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


def plan(keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy) -> tuple[Operation, ...]:
    """Operations that bring `entries` to what `keys` (all desired keys of these targets) ask; additions
    first.

    Additions first, so that a member who replaces the only key is never without one.
    """
    additions: list[Operation] = []
    deletions: list[Operation] = []
    added: set[Spot] = set()
    kept = _kept(keys, entries, policy)
    for key in keys:
        wanted = key.parsed()
        matched = match_target(key.target, entries, policy.uids)
        if wanted is None or not isinstance(matched, Matched):
            continue
        entry = matched.entry
        holding = [value for value in entry.values if wanted.blob in blobs_in(value)]
        spot = (entry.dn, wanted.blob)
        if key.act is Act.PRESENT:
            if not holding and spot not in added:
                added.add(spot)
                additions.append(
                    Operation(Change.ADD, entry.dn, wanted.line.encode("ascii"), wanted.blob, key.key_id)
                )
        elif policy.removals and spot not in kept:
            kept.add(spot)  # one deletion, however many revoked keys share the blob
            for value in holding:
                additions.extend(_foreign_lines(entry, value, wanted.blob, key.key_id))
                deletions.append(Operation(Change.DELETE, entry.dn, value, wanted.blob, key.key_id))
    return (*additions, *deletions)


def judge(
    keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy, refused: frozenset[Spot]
) -> dict[UUID, Verdict]:
    """The verdict on each key from `entries` as read back. `refused`: where the directory refused a change
    for good.
    """
    kept = _kept(keys, entries, policy)
    return {key.key_id: _judge_one(key, entries, policy, kept, refused) for key in keys}


def _judge_one(
    key: DesiredKey, entries: tuple[Entry, ...], policy: Policy, kept: set[Spot], refused: frozenset[Spot]
) -> Verdict:
    wanted = key.parsed()
    if wanted is None:
        return Verdict(Outcome.REFUSED, "key_malformed")
    present = key.act is Act.PRESENT
    match match_target(key.target, entries, policy.uids):
        case Mismatch(code=code):
            return Verdict(Outcome.REFUSED, code)
        case Unreadable():
            return Verdict(Outcome.PENDING, "entry_unreadable")
        case Absent(renewed=renewed):
            if present:
                return Verdict(Outcome.REFUSED, "target_mismatch" if renewed else "target_absent")
            return Verdict(Outcome.REMOVED)
        case Matched(entry=entry):
            there = any(wanted.blob in blobs_in(value) for value in entry.values)
            spot = (entry.dn, wanted.blob)
            if there is present:
                return Verdict(Outcome.APPLIED if present else Outcome.REMOVED)
            if not present and spot in kept:
                return Verdict(Outcome.REMOVED)  # what stands there is the other key's
            if not present and not policy.removals:
                return Verdict(Outcome.HELD, "feed_not_accepted")
            if spot in refused:
                return Verdict(Outcome.REFUSED, "directory_refused")
            return Verdict(Outcome.PENDING, "not_read_back")


def _kept(keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy) -> set[Spot]:
    """Entry and blob of every present key: no deletion may touch these."""
    kept = set()
    for key in keys:
        wanted = key.parsed() if key.act is Act.PRESENT else None
        if wanted is None:
            continue
        matched = match_target(key.target, entries, policy.uids)
        if isinstance(matched, Matched):
            kept.add((matched.entry.dn, wanted.blob))
    return kept


def _foreign_lines(entry: Entry, value: bytes, blob: bytes, key_id: UUID) -> list[Operation]:
    """A value that holds more than the revoked key: its other lines become values of their own before it
    goes.
    """
    others = [line for line in value_lines(value) if blob not in blobs_in(line)]
    return [
        Operation(Change.ADD, entry.dn, line, blob, key_id)
        for line in others
        if blobs_in(line) and line not in entry.values
    ]
