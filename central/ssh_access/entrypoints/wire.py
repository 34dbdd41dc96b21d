"""The bodies of docs/wire.md, schema 1, in the order the wire writes their fields (X4, X10)."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct, field

from central.kernel.site_feed import fitting
from central.kernel.site_names import SITE_NAME
from central.kernel.strict_json import encoded_size
from central.kernel.times import format_rfc3339
from central.ssh_access.domain.feed import Change, ChangePage
from central.ssh_access.domain.member_key import MemberKey, Receipt

SCHEMA: Final = 1
RESULTS_MAX: Final = 500
REPORT_BYTES_MAX: Final = 262_144
ADD_BYTES_MAX: Final = 16_384

Schema = Literal[1]
SiteName = Annotated[str, Meta(pattern=rf"\A{SITE_NAME}\Z")]
UuidText = Annotated[
    str, Meta(pattern=r"\A[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\Z")
]
ReasonName = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,63}\Z")]
Sequence64 = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class AddBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`POST /api/v1/me/ssh-keys`."""

    schema: Schema
    site: SiteName
    public_key: str = field(name="publicKey")
    name: str


class KeyBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`key`: what a member is shown of one key."""

    schema: Schema
    key_id: UUID
    site: str
    name: str
    type: str
    fingerprint: str
    public_key: str
    state: str
    reason: str | None
    added_at: str
    changed_at: str
    reported_at: str | None
    revision: int


class KeysBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`GET /api/v1/me/ssh-keys`."""

    schema: Schema
    keys: list[KeyBody]


class TargetBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The directory entry a key goes to."""

    username: str
    uid_number: int = field(name="uidNumber")
    entry_uuid: UUID = field(name="entryUUID")


class ChangeBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One change of a Site's feed."""

    sequence: int
    change_id: UUID
    act: str
    key_id: UUID
    public_key: str
    fingerprint: str
    target: TargetBody


class ChangesBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`GET /v1/site/ssh-access/changes`."""

    schema: Schema
    site: str
    feed: UUID
    after: int
    changes: list[ChangeBody]
    next: int
    more: bool


class ResultBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One result of a report."""

    change_id: UuidText
    sequence: Sequence64
    key_id: UuidText
    outcome: Literal["applied", "removed_from_directory", "pending", "held", "refused"]
    code: ReasonName | None


class ResultsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST /v1/site/ssh-access/results`."""

    schema: Schema
    report_id: UuidText
    observed_at: str
    results: Annotated[list[ResultBody], Meta(min_length=1, max_length=RESULTS_MAX)]


class ReceiptBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """What became of one result."""

    change_id: UUID
    outcome: Receipt


class ReceiptsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The answer to a report."""

    schema: Schema
    receipts: list[ReceiptBody]


def key_body(key: MemberKey) -> KeyBody:
    """A key as its member sees it."""
    return KeyBody(
        schema=SCHEMA,
        key_id=key.key_id,
        site=key.site,
        name=key.name,
        type=key.public_key.key_type,
        fingerprint=key.public_key.fingerprint,
        public_key=key.public_key.line,
        state=key.state.value,
        reason=key.reason,
        added_at=format_rfc3339(key.added_at),
        changed_at=format_rfc3339(key.changed_at),
        reported_at=format_rfc3339(key.reported_at) if key.reported_at else None,
        revision=key.revision,
    )


def keys_body(keys: Sequence[MemberKey]) -> KeysBody:
    """A member's keys."""
    return KeysBody(schema=SCHEMA, keys=[key_body(key) for key in keys])


def changes_body(site: str, page: ChangePage) -> ChangesBody:
    """A page of a Site's feed, cut where it grows too large."""
    bodies = map(_change_body, page.entries)
    changes, reach, more = fitting(page, bodies, size=encoded_size, sequence=attrgetter("sequence"))
    return ChangesBody(SCHEMA, site, page.feed, page.after, changes, reach, more)


def receipts_body(change_ids: Sequence[UUID], receipts: Sequence[Receipt]) -> ReceiptsBody:
    """One receipt a result, in the results' order."""
    pairs = zip(change_ids, receipts, strict=True)
    return ReceiptsBody(
        schema=SCHEMA, receipts=[ReceiptBody(change_id, outcome) for change_id, outcome in pairs]
    )


def _change_body(change: Change) -> ChangeBody:
    return ChangeBody(
        sequence=change.sequence,
        change_id=change.change_id,
        act=change.act.value,
        key_id=change.key_id,
        public_key=change.public_key.line,
        fingerprint=change.public_key.fingerprint,
        target=TargetBody(change.target.username, change.target.uid_number, change.target.entry_uuid),
    )
