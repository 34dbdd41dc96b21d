"""Whose account a key goes to: exactly the saved target, or nobody (S7)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from site_bundle.kernel.ranges import NumberRange

# P22: a Slurm Site's account name.
USERNAME = re.compile(r"[a-z_][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Target:
    """The account as it was proven when the member got the right: three facts that must all still hold."""

    username: str
    uid_number: int
    entry_uuid: UUID


@dataclass(frozen=True, slots=True)
class Entry:
    """One directory entry as read. `values` are the stored bytes of its keys; `direct`: right below the
    base.

    `entry_uuid` None or no `uid_numbers`: not shown to the agent, which is not the same as not there (X1).
    """

    dn: str
    usernames: tuple[str, ...]
    uid_numbers: tuple[int, ...]
    entry_uuid: UUID | None
    values: tuple[bytes, ...]
    direct: bool = True


@dataclass(frozen=True, slots=True)
class Matched:
    """The target is this entry."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Absent:
    """Proven: no entry has the target's entryUUID. `renewed`: another entry has its name (a recreated
    account).
    """

    renewed: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The entry exists but is not exactly the target; `code` says which rule failed."""

    code: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The entry that may be the target does not show what decides it."""


Match = Matched | Absent | Mismatch | Unreadable


class Entries:
    """Entries by what identifies them, so that many targets are matched in one walk."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.by_uuid: dict[UUID | None, list[Entry]] = {}
        self.by_name: dict[str, list[Entry]] = {}
        for entry in entries:
            self.by_uuid.setdefault(entry.entry_uuid, []).append(entry)
            for name in dict.fromkeys(entry.usernames):
                self.by_name.setdefault(name, []).append(entry)


def match_target(target: Target, entries: Entries, uids: NumberRange) -> Match:
    """Which of `entries` the target is; they hold all with its entryUUID or its name below the base.

    A UID outside the Site's range is outside the base too: no member's account is there (I9).
    """
    if target.uid_number not in uids:
        return Mismatch("target_outside_base")
    same_uuid = entries.by_uuid.get(target.entry_uuid, [])
    same_name = entries.by_name.get(target.username, [])
    if any(entry.entry_uuid is None for entry in same_name) or any(
        not entry.uid_numbers for entry in same_uuid
    ):
        return Unreadable()
    if not same_uuid:
        return Absent(renewed=bool(same_name))
    return _match_one(target, same_uuid[0], alone=len(same_name) <= 1 and len(same_uuid) == 1)


def _match_one(target: Target, entry: Entry, *, alone: bool) -> Match:
    if not entry.direct:
        return Mismatch("target_outside_base")
    if entry.uid_numbers != (target.uid_number,) or target.username not in entry.usernames:
        return Mismatch("target_mismatch")
    return Matched(entry) if alone else Mismatch("target_ambiguous")
