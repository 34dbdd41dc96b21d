"""One member's key at one Site: what is wanted there, and what the Site last said of it (ledger E6, S7).

Rules:

1. the target (username, numeric UID, entryUUID) is the one confirmed when the key was added; it never moves,
   so a removal reaches the account the key went to, also after the member left (E6, P30);
2. a key is `active` or `removed` only when the Site said so, never because we asked for it;
3. a removal that the Site could not make stays `removing` and says why;
4. a result of an older change, or another one observed no later than the last, is `stale`, changes nothing;
5. `revision` counts material changes: another state, reason or wanted act. The same fact seen again is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, NewType
from uuid import UUID

from central.kernel.site_names import Site
from central.ssh_access.domain.public_key import PublicKey

MemberId = NewType("MemberId", str)
"""The subject the identity provider names a member by; compared byte for byte."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """How many keys of one member may stand at one Site; removed ones do not count."""

    keys_per_member_and_site: int = 20


KEY_LIMITS: Final = KeyLimits()


class Act(StrEnum):
    """What the Site is asked to make true."""

    PRESENT = "present"
    ABSENT = "absent"


class State(StrEnum):
    """What a member is shown."""

    PENDING = "pending"
    ACTIVE = "active"
    REMOVING = "removing"
    REMOVED = "removed"
    REFUSED = "refused"
    HELD = "held"


class Outcome(StrEnum):
    """What a Site says of one change."""

    APPLIED = "applied"
    REMOVED_FROM_DIRECTORY = "removed_from_directory"
    PENDING = "pending"
    HELD = "held"
    REFUSED = "refused"


class Receipt(StrEnum):
    """What central answers for one result."""

    RECORDED = "recorded"
    UNCHANGED = "unchanged"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """The one directory entry a key goes to. All three must match at the Site (S7)."""

    username: str
    uid_number: int
    entry_uuid: UUID


@dataclass(frozen=True, slots=True)
class MemberKey:
    """One version of a key; times carry a zone.

    `change_id` names the change that asks for `act`, `answered_at` is the last observation of that change,
    `reported_at` the last of any.
    """

    key_id: UUID
    member: MemberId
    site: Site
    name: str
    public_key: PublicKey
    target: Target
    act: Act
    change_id: UUID
    state: State
    reason: str | None
    added_at: datetime
    changed_at: datetime
    reported_at: datetime | None
    answered_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class NewKey:
    """A member's wish to add a key. `key_id` and `change_id` are fresh."""

    key_id: UUID
    change_id: UUID
    member: MemberId
    site: Site
    name: str
    public_key: PublicKey
    target: Target


@dataclass(frozen=True, slots=True)
class Result:
    """A Site's word on one change, observed at `observed_at` by the Site's clock."""

    change_id: UUID
    outcome: Outcome
    code: str | None
    observed_at: datetime


class KeyExists(Exception):
    """The member has this key at this Site already. `key` is that one."""

    def __init__(self, key: MemberKey) -> None:
        super().__init__("this key is there already")
        self.key = key


class KeyLimitReached(Exception):
    """The member has as many keys at this Site as may stand there. `limit` is the number."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"at most {limit} keys a Site")
        self.limit = limit


def add(existing: Sequence[MemberKey], wish: NewKey, now: datetime) -> MemberKey:
    """Decides a new key beside `existing`, all keys of this member at this Site.

    Raises `KeyExists` while the same blob stands or is still being removed (its removal, retried at the
    Site, would take the new one with it), and `KeyLimitReached`.
    """
    standing = [key for key in existing if key.state is not State.REMOVED]
    for key in standing:
        if key.public_key.blob == wish.public_key.blob:
            raise KeyExists(key)
    if len(standing) >= KEY_LIMITS.keys_per_member_and_site:
        raise KeyLimitReached(KEY_LIMITS.keys_per_member_and_site)
    return MemberKey(
        key_id=wish.key_id,
        member=wish.member,
        site=wish.site,
        name=wish.name,
        public_key=wish.public_key,
        target=wish.target,
        act=Act.PRESENT,
        change_id=wish.change_id,
        state=State.PENDING,
        reason=None,
        added_at=now,
        changed_at=now,
        reported_at=None,
        answered_at=None,
        revision=1,
    )


def remove(key: MemberKey, change_id: UUID, now: datetime) -> MemberKey:
    """Decides a removal. A key already going or gone comes back as it is: there is nothing more to ask."""
    if key.act is Act.ABSENT:
        return key
    return replace(
        key,
        act=Act.ABSENT,
        change_id=change_id,
        state=State.REMOVING,
        reason=None,
        changed_at=now,
        answered_at=None,
        revision=key.revision + 1,
    )


def record_result(key: MemberKey, result: Result, now: datetime) -> tuple[Receipt, MemberKey]:
    """Decides what a Site's result makes of `key`; one that is not newer comes back with the key as it is.

    `unknown` is answered for an outcome that its change cannot have (`applied` of a removal).
    """
    if result.change_id != key.change_id:
        return Receipt.STALE, key
    if (key.act, result.outcome) not in _STATE_AFTER:
        return Receipt.UNKNOWN, key
    state = _STATE_AFTER[key.act, result.outcome]
    reason = _reason(key.act, result)
    same = (state, reason) == (key.state, key.reason)
    seen = replace(key, reported_at=result.observed_at, answered_at=result.observed_at)
    if key.answered_at is not None:
        later = result.observed_at > key.answered_at
        if same:
            return Receipt.UNCHANGED, seen if later else key
        if not later:
            return Receipt.STALE, key
    if same:
        return Receipt.RECORDED, seen
    return Receipt.RECORDED, replace(
        seen, state=state, reason=reason, changed_at=now, revision=key.revision + 1
    )


def _reason(act: Act, result: Result) -> str | None:
    """The Site's own code; a removal that is held or refused without one still says which of the two."""
    if result.outcome in (Outcome.APPLIED, Outcome.REMOVED_FROM_DIRECTORY):
        return None
    if result.code is None and act is Act.ABSENT and result.outcome is not Outcome.PENDING:
        return result.outcome.value
    return result.code


_STATE_AFTER: Final = {
    (Act.PRESENT, Outcome.APPLIED): State.ACTIVE,
    (Act.PRESENT, Outcome.PENDING): State.PENDING,
    (Act.PRESENT, Outcome.HELD): State.HELD,
    (Act.PRESENT, Outcome.REFUSED): State.REFUSED,
    (Act.ABSENT, Outcome.REMOVED_FROM_DIRECTORY): State.REMOVED,
    (Act.ABSENT, Outcome.PENDING): State.REMOVING,
    (Act.ABSENT, Outcome.HELD): State.REMOVING,
    (Act.ABSENT, Outcome.REFUSED): State.REMOVING,
}
