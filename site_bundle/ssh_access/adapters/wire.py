"""The Site API's bodies, schema 1 (docs/wire.md; X10): exact in, byte-stable out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from site_bundle.kernel.documents import Between, Length, Matching, Named, write_document
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.ssh_access.application.check_self import Grant
from site_bundle.ssh_access.application.report_results import Receipt, Result
from site_bundle.ssh_access.domain.desired import Act, DesiredKey
from site_bundle.ssh_access.domain.feed import Page
from site_bundle.ssh_access.domain.public_key import fingerprint
from site_bundle.ssh_access.domain.target import Target

Cursor = Annotated[int, Between(0, 2**63 - 1)]
Sequence64 = Annotated[int, Between(1, 2**63 - 1)]
Uid = Annotated[int, Between(1, 2**31 - 1)]
Username = Annotated[str, Matching(r"[a-z_][a-z0-9._-]{0,31}")]
SiteName = Annotated[str, Matching(r"[a-z][a-z0-9-]{0,31}")]
# `<type> <base64>` without options or comment. A key of this form that breaks the grammar is one key's
# refusal (`key_malformed`); any other text is a malformed page.
_KEY_SHAPE = r"[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}"
MAX_CHANGES = 500


@dataclass(frozen=True, slots=True)
class TargetBody:
    username: Username
    uid_number: Uid
    entry_uuid: Annotated[UUID, Named("entryUUID")]


@dataclass(frozen=True, slots=True)
class ChangeBody:
    sequence: Sequence64
    change_id: UUID
    act: Literal["present", "absent"]
    key_id: UUID
    public_key: Annotated[str, Length(1, 8192), Matching(_KEY_SHAPE)]
    fingerprint: Annotated[str, Length(0, 64)]
    target: TargetBody

    def desired(self) -> DesiredKey:
        target = Target(self.target.username, self.target.uid_number, self.target.entry_uuid)
        return DesiredKey(
            key_id=self.key_id,
            change_id=self.change_id,
            sequence=self.sequence,
            act=Act(self.act),
            public_key=self.public_key,
            fingerprint=self.fingerprint,
            target=target,
        )


@dataclass(frozen=True, slots=True)
class ChangesBody:
    schema: Literal[1]
    site: SiteName
    feed: UUID
    after: Cursor
    changes: Annotated[tuple[ChangeBody, ...], Length(0, MAX_CHANGES)]
    next: Cursor
    more: bool

    def page(self) -> Page:
        """The page; ValueError says which rule of the feed it breaks."""
        self._check_order()
        for change in self.changes:
            _check_fingerprint(change)
        return Page(
            site=self.site,
            feed=self.feed,
            after=self.after,
            changes=tuple(change.desired() for change in self.changes),
            reach=self.next,
            more=self.more,
        )

    def _check_order(self) -> None:
        last = self.after
        for change in self.changes:
            if change.sequence <= last:
                raise ValueError("sequences do not rise")
            last = change.sequence
        if self.next < last:
            raise ValueError("next is below the last change")
        if self.more and not self.changes:
            raise ValueError("more without a change")
        if len({change.key_id for change in self.changes}) != len(self.changes):
            raise ValueError("one key stands twice")


def _check_fingerprint(change: ChangeBody) -> None:
    try:
        blob = base64.b64decode(change.public_key.partition(" ")[2], validate=True)
    except binascii.Error as error:
        raise ValueError("a key that is not base64") from error
    if fingerprint(blob) != change.fingerprint:
        raise ValueError("a fingerprint of another key")


@dataclass(frozen=True, slots=True)
class GrantBody:
    schema: Literal[1]
    site: SiteName
    scopes: Annotated[list[Literal["commands", "ssh-access"]], Length(1, 2)]
    grant_id: UUID
    expires_at: str | None

    def grant(self) -> Grant:
        """The grant; ValueError for scopes out of order or twice, or a time that is none."""
        if self.scopes != sorted(set(self.scopes)):
            raise ValueError("scopes are not sorted and distinct")
        ends = parse_time(self.expires_at) if self.expires_at is not None else None
        return Grant(self.site, frozenset(self.scopes), ends)


@dataclass(frozen=True, slots=True)
class ReceiptBody:
    change_id: UUID
    outcome: Literal["recorded", "unchanged", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class ReceiptsBody:
    schema: Literal[1]
    receipts: Annotated[tuple[ReceiptBody, ...], Length(0, MAX_CHANGES)]

    def of(self, changes: Sequence[UUID]) -> tuple[Receipt, ...]:
        """One receipt a result, in the results' order; ValueError otherwise."""
        if [item.change_id for item in self.receipts] != list(changes):
            raise ValueError("the receipts are not those of the results, in their order")
        return tuple(Receipt(item.change_id, item.outcome) for item in self.receipts)


@dataclass(frozen=True, slots=True)
class ResultBody:
    change_id: UUID
    sequence: Sequence64
    key_id: UUID
    outcome: str
    code: str | None


@dataclass(frozen=True, slots=True)
class ResultsBody:
    schema: Literal[1]
    report_id: UUID
    observed_at: str
    results: tuple[ResultBody, ...]


def encode_results(report_id: UUID, observed_at: datetime, results: Sequence[Result]) -> bytes:
    """The body of `POST …/results`; members in the order of the schema, so equal inputs give equal bytes."""
    body = ResultsBody(
        schema=1,
        report_id=report_id,
        observed_at=render_time(observed_at),
        results=tuple(
            ResultBody(
                change_id=result.change_id,
                sequence=result.sequence,
                key_id=result.key_id,
                outcome=result.verdict.outcome.value,
                code=result.verdict.code,
            )
            for result in results
        ),
    )
    return write_document(body)
