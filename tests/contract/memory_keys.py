"""`MemberKeys` and `Grants` in memory, for contract tests without a database.

They obey the same suite as PostgreSQL's (`member_keys_suite`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from central.grants.application.ports import GrantUnknown
from central.grants.domain.grant import Grant
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.site_names import Site
from central.ssh_access.application.ports import KeyUnknown, Saved, SiteResult
from central.ssh_access.domain.command import Command, key_id_of
from central.ssh_access.domain.feed import Change, ChangePage, page
from central.ssh_access.domain.member_key import MemberId, MemberKey, Receipt, Result, State


@dataclass
class MemoryMemberKeys:
    """One dictionary a table; a listed change is one no later one replaced."""

    feed: UUID = field(default_factory=lambda: UUID("00000000-0000-4000-8000-000000000002"))
    keys: dict[UUID, MemberKey] = field(default_factory=dict)
    heads: dict[Site, int] = field(default_factory=dict)
    listed: dict[tuple[Site, UUID], Change] = field(default_factory=dict)
    named: dict[UUID, tuple[Site, int, UUID]] = field(default_factory=dict)
    receipts: dict[UUID, tuple[bytes, object]] = field(default_factory=dict)

    def recorded(self, command: Command) -> MemberKey | None:
        found = self._repeated(command)
        return self.keys[key_id_of(command.id)] if found is not None else None

    def of_member(self, member: MemberId) -> Sequence[MemberKey]:
        mine = [key for key in self.keys.values() if key.member == member]
        return sorted(mine, key=lambda key: (key.added_at, key.key_id))

    def add(
        self,
        command: Command,
        member: MemberId,
        site: Site,
        decide: Callable[[Sequence[MemberKey]], MemberKey],
        now: datetime,
    ) -> Saved:
        if self._repeated(command) is not None:
            return Saved(self.keys[key_id_of(command.id)], repeated=True)
        key = decide([key for key in self.of_member(member) if key.site == site])
        for (of_site, key_id), change in list(self.listed.items()):
            older = self.keys[key_id]
            same = change.target == key.target and change.public_key.blob == key.public_key.blob
            if of_site == site and same and older.state is State.REMOVED:
                del self.listed[of_site, key_id]
        self._append(key)
        self.receipts[command.id] = (command.digest, key.key_id)
        return Saved(key, repeated=False)

    def remove(
        self,
        command: Command,
        member: MemberId,
        key_id: UUID,
        decide: Callable[[MemberKey], MemberKey],
        now: datetime,
    ) -> Saved:
        if self._repeated(command) is not None:
            return Saved(self.keys[key_id], repeated=True)
        before = self.keys.get(key_id)
        if before is None or before.member != member:
            raise KeyUnknown
        after = decide(before)
        if after != before:
            self._append(after)
        self.receipts[command.id] = (command.digest, key_id)
        return Saved(after, repeated=False)

    def changes(self, site: Site, after: int, limit: int) -> ChangePage:
        mine = sorted((c for (of, _), c in self.listed.items() if of == site), key=lambda c: c.sequence)
        found = tuple(change for change in mine if change.sequence > after)[: limit + 1]
        return page(self.feed, self.heads.get(site, 0), after, limit, found)

    def record(
        self,
        command: Command,
        site: Site,
        results: Sequence[SiteResult],
        decide: Callable[[MemberKey, Result], tuple[Receipt, MemberKey]],
        now: datetime,
    ) -> Sequence[Receipt]:
        repeated = self._repeated(command)
        if isinstance(repeated, list):
            return repeated
        receipts = []
        for entry in results:
            if self.named.get(entry.result.change_id) != (site, entry.sequence, entry.key_id):
                receipts.append(Receipt.UNKNOWN)
                continue
            receipt, self.keys[entry.key_id] = decide(self.keys[entry.key_id], entry.result)
            receipts.append(receipt)
        self.receipts[command.id] = (command.digest, receipts)
        return receipts

    def _append(self, key: MemberKey) -> None:
        self.keys[key.key_id] = key
        sequence = self.heads[key.site] = self.heads.get(key.site, 0) + 1
        self.named[key.change_id] = (key.site, sequence, key.key_id)
        self.listed[key.site, key.key_id] = Change(
            sequence, key.change_id, key.act, key.key_id, key.public_key, key.target
        )

    def _repeated(self, command: Command) -> object | None:
        found = self.receipts.get(command.id)
        if found is None:
            return None
        if found[0] != command.digest:
            raise Problem(COMMAND_REUSED, "this command id was recorded with other content; use a new id")
        return found[1]


@dataclass
class MemoryGrants:
    """Grants by id."""

    grants: dict[UUID, Grant] = field(default_factory=dict)

    def issue(self, site: str, decide: Callable[[Sequence[Grant]], Grant]) -> Grant:
        grant = decide([grant for grant in self.grants.values() if grant.site == site])
        self.grants[grant.grant_id] = grant
        return grant

    def everything(self) -> Sequence[Grant]:
        return list(self.grants.values())

    def find(self, grant_id: UUID) -> Grant | None:
        return self.grants.get(grant_id)

    def touch(self, grant_id: UUID, now: datetime) -> None:
        """Last use is PostgreSQL's to keep."""

    def revoke(self, grant_id: UUID, now: datetime) -> Grant:
        if grant_id not in self.grants:
            raise GrantUnknown
        return self.grants[grant_id]
