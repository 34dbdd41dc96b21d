"""Rows of `ssh_access` as domain values. A row at odds with itself is `CorruptState` (P7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.kernel.times import stored_instant
from central.ssh_access.domain.feed import Change
from central.ssh_access.domain.member_key import Act, MemberId, MemberKey, State, Target
from central.ssh_access.domain.public_key import PublicKey


@dataclass(frozen=True, slots=True)
class KeyRow:
    """`ssh_access.member_keys`."""

    key_id: UUID
    member: str
    site: str
    name: str
    key_type: str
    blob: bytes
    bits: int
    username: str
    uid_number: int
    entry_uuid: UUID
    act: str
    change_id: UUID
    state: str
    reason: str | None
    added_at: datetime
    changed_at: datetime
    reported_at: datetime | None
    answered_at: datetime | None
    revision: int

    def key(self) -> MemberKey:
        """The row as a domain value."""
        return MemberKey(
            key_id=self.key_id,
            member=MemberId(self.member),
            site=Site(self.site),
            name=self.name,
            public_key=PublicKey(self.key_type, bytes(self.blob), self.bits),
            target=Target(self.username, self.uid_number, self.entry_uuid),
            act=Act(self.act),
            change_id=self.change_id,
            state=State(self.state),
            reason=self.reason,
            added_at=stored_instant(self.added_at),
            changed_at=stored_instant(self.changed_at),
            reported_at=stored_instant(self.reported_at) if self.reported_at else None,
            answered_at=stored_instant(self.answered_at) if self.answered_at else None,
            revision=self.revision,
        )


def key_params(key: MemberKey) -> dict[str, object]:
    """A key as the named parameters of its row."""
    return {
        "key_id": key.key_id,
        "member": key.member,
        "site": key.site,
        "name": key.name,
        "key_type": key.public_key.key_type,
        "blob": key.public_key.blob,
        "bits": key.public_key.bits,
        "username": key.target.username,
        "uid_number": key.target.uid_number,
        "entry_uuid": key.target.entry_uuid,
        "act": key.act.value,
        "change_id": key.change_id,
        "state": key.state.value,
        "reason": key.reason,
        "added_at": key.added_at,
        "changed_at": key.changed_at,
        "reported_at": key.reported_at,
        "answered_at": key.answered_at,
        "revision": key.revision,
    }


def reported_params(keys: Sequence[MemberKey]) -> dict[str, object]:
    """What a report changed of several keys, as columns."""
    return {
        "key_ids": [key.key_id for key in keys],
        "states": [key.state.value for key in keys],
        "reasons": [key.reason for key in keys],
        "changed_ats": [key.changed_at for key in keys],
        "reported_ats": [key.reported_at for key in keys],
        "answered_ats": [key.answered_at for key in keys],
        "revisions": [key.revision for key in keys],
    }


class Wish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The snapshot of a version: what a member asked for. What the Site said of it stands in the row."""

    schema: int
    member: str
    site: str
    name: str
    public_key: str
    username: str
    uid_number: int
    entry_uuid: UUID
    act: str
    change_id: UUID

    @classmethod
    def of(cls, key: MemberKey) -> "Wish":
        """The wish in a key."""
        return cls(
            schema=1,
            member=key.member,
            site=key.site,
            name=key.name,
            public_key=key.public_key.line,
            username=key.target.username,
            uid_number=key.target.uid_number,
            entry_uuid=key.target.entry_uuid,
            act=key.act.value,
            change_id=key.change_id,
        )


def check_wish(key: MemberKey, snapshot: bytes | None) -> None:
    """Holds a row to the version its head points to."""
    try:
        saved = msgspec.json.decode(snapshot or b"", type=Wish)
    except msgspec.MsgspecError as error:
        raise CorruptState(f"key {key.key_id}: its saved version cannot be read") from error
    if saved != Wish.of(key):
        raise CorruptState(f"key {key.key_id}: its row and its saved version differ")


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A row of `change_page`: the feed, and one change or nulls."""

    feed: UUID
    head: int
    sequence: int | None
    change_id: UUID | None
    act: str | None
    key_id: UUID | None
    key_type: str | None
    blob: bytes | None
    bits: int | None
    username: str | None
    uid_number: int | None
    entry_uuid: UUID | None

    def change(self) -> Change | None:
        """The change, None where the row only names the feed."""
        if self.sequence is None:
            return None
        if (
            self.change_id is None
            or self.act is None
            or self.key_id is None
            or self.key_type is None
            or self.blob is None
            or self.bits is None
            or self.username is None
            or self.uid_number is None
            or self.entry_uuid is None
        ):
            raise CorruptState(f"change {self.sequence} of feed {self.feed} has no key")
        return Change(
            sequence=self.sequence,
            change_id=self.change_id,
            act=Act(self.act),
            key_id=self.key_id,
            public_key=PublicKey(self.key_type, bytes(self.blob), self.bits),
            target=Target(self.username, self.uid_number, self.entry_uuid),
        )


@dataclass(frozen=True, slots=True)
class KnownChange:
    """What names a change."""

    change_id: UUID
    sequence: int
    key_id: UUID
