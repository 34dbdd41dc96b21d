"""`MemberKeys` in PostgreSQL: keys, feeds and receipts in one transaction (X7).

A key's versions in the aggregate store hold what its member asked for; its row also holds what the Site said,
so that a report of 500 results is three statements and not 500 decisions. `pg_notify` is said for changes
only, never for reports (O4).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from central.kernel.aggregates import Aggregates, Decision, Stored
from central.kernel.aggregates import Command as StoreCommand
from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.errors import CorruptState
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.ssh_access.adapters.rows import (
    ChangeRow,
    KeyRow,
    KnownChange,
    Wish,
    check_wish,
    key_params,
    reported_params,
)
from central.ssh_access.application.ports import KeyUnknown, Saved, SiteResult
from central.ssh_access.domain.command import Command, key_id_of, report_aggregate
from central.ssh_access.domain.feed import ChangePage, page
from central.ssh_access.domain.member_key import MemberId, MemberKey, Receipt, Result

SCHEMA: Final = "ssh_access"
CHANNEL: Final = "pharos_ssh_access"
_KEY: Final = "member_key"
_REPORTS: Final = "site_reports"


class PostgresMemberKeys:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._aggregates = Aggregates(database, schema=SCHEMA)
        self._queries = load_queries("central.ssh_access")

    def recorded(self, command: Command) -> MemberKey | None:
        """See `MemberKeys`."""
        receipt = self._aggregates.receipt(command.id)
        if receipt is None:
            return None
        key_id = key_id_of(command.id)
        if receipt.aggregate_id != key_id:
            raise Problem(COMMAND_REUSED, "this Idempotency-Key named another command before; use a new one")
        self._aggregates.decide(_store(command), _KEY, key_id, _unreachable, now=receipt.recorded_at)
        return self._read(key_id)

    def of_member(self, member: MemberId) -> Sequence[MemberKey]:
        """See `MemberKeys`."""
        rows = self._database.run(
            lambda tx: tx.all(KeyRow, self._queries["keys_of_member"], {"member": member}), repeatable=True
        )
        return [row.key() for row in rows]

    def add(
        self,
        command: Command,
        member: MemberId,
        site: Site,
        decide: Callable[[Sequence[MemberKey]], MemberKey],
        now: datetime,
    ) -> Saved:
        """See `MemberKeys`."""
        key_id = key_id_of(command.id)

        def work(tx: Transaction, _stored: Stored | None) -> Decision:
            self._lock(tx, site)
            rows = tx.all(KeyRow, self._queries["keys_of_member_at_site"], {"member": member, "site": site})
            if any(row.key_id == key_id for row in rows):
                raise TransactionConflict("the same command was committed meanwhile")
            key = decide([row.key() for row in rows])
            tx.execute(self._queries["insert_key"], key_params(key))
            self._append(tx, key, now)
            return Decision(msgspec.json.encode(Wish.of(key)))

        receipt = self._aggregates.decide(_store(command), _KEY, key_id, work, now=now)
        return Saved(self._read(key_id), receipt.repeated)

    def remove(
        self,
        command: Command,
        member: MemberId,
        key_id: UUID,
        decide: Callable[[MemberKey], MemberKey],
        now: datetime,
    ) -> Saved:
        """See `MemberKeys`."""

        def work(tx: Transaction, stored: Stored | None) -> Decision:
            seen = tx.maybe(KeyRow, self._queries["key_by_id"], {"key_id": key_id})
            if seen is None or seen.member != member:
                raise KeyUnknown
            self._lock(tx, Site(seen.site))
            before = tx.one(KeyRow, self._queries["key_for_update"], {"key_id": key_id}).key()
            check_wish(before, stored.snapshot if stored else None)
            after = decide(before)
            if after != before:
                tx.execute(self._queries["update_wish"], key_params(after))
                self._append(tx, after, now)
            return Decision(msgspec.json.encode(Wish.of(after)))

        receipt = self._aggregates.decide(_store(command), _KEY, key_id, work, now=now)
        return Saved(self._read(key_id), receipt.repeated)

    def changes(self, site: Site, after: int, limit: int) -> ChangePage:
        """See `MemberKeys`."""
        params = {"site": site, "after": after, "limit": limit}

        def read(tx: Transaction) -> list[ChangeRow]:
            rows = tx.all(ChangeRow, self._queries["change_page"], params)
            if not rows:
                tx.execute(self._queries["ensure_feed"], {"site": site})
                rows = tx.all(ChangeRow, self._queries["change_page"], params)
            return rows

        rows = self._database.run(read, repeatable=True)
        found = tuple(change for row in rows if (change := row.change()) is not None)
        return page(rows[0].feed, rows[0].head, after, limit, found)

    def record(
        self,
        command: Command,
        site: Site,
        results: Sequence[SiteResult],
        decide: Callable[[MemberKey, Result], tuple[Receipt, MemberKey]],
        now: datetime,
    ) -> Sequence[Receipt]:
        """See `MemberKeys`."""

        def work(tx: Transaction, _stored: Stored | None) -> Decision:
            receipts, changed = self._decide_all(tx, site, results, decide)
            if changed and tx.execute(self._queries["update_reported"], reported_params(changed)) != len(
                changed
            ):
                raise CorruptState("a locked key is gone")
            return Decision(None, msgspec.json.encode([receipt.value for receipt in receipts]))

        receipt = self._aggregates.decide(_store(command), _REPORTS, report_aggregate(site), work, now=now)
        return msgspec.json.decode(receipt.answer, type=list[Receipt])

    def _decide_all(
        self,
        tx: Transaction,
        site: Site,
        results: Sequence[SiteResult],
        decide: Callable[[MemberKey, Result], tuple[Receipt, MemberKey]],
    ) -> tuple[list[Receipt], list[MemberKey]]:
        """Two reads whatever the number of results; a key met twice is decided on as left by the first."""
        key_ids = sorted({entry.key_id for entry in results})
        rows = tx.all(KeyRow, self._queries["reported_keys"], {"key_ids": key_ids, "site": site})
        keys = {row.key_id: row.key() for row in rows}
        change_ids = [entry.result.change_id for entry in results]
        known = set(
            tx.all(KnownChange, self._queries["known_changes"], {"change_ids": change_ids, "site": site})
        )
        receipts: list[Receipt] = []
        changed: dict[UUID, MemberKey] = {}
        for entry in results:
            key = keys.get(entry.key_id)
            if key is None or KnownChange(entry.result.change_id, entry.sequence, entry.key_id) not in known:
                receipts.append(Receipt.UNKNOWN)
                continue
            receipt, after = decide(key, entry.result)
            receipts.append(receipt)
            if after != key:
                keys[entry.key_id] = changed[entry.key_id] = after
        return receipts, list(changed.values())

    def _lock(self, tx: Transaction, site: Site) -> None:
        tx.execute(self._queries["lock_site"], {"site": site})

    def _append(self, tx: Transaction, key: MemberKey, now: datetime) -> None:
        tx.execute(self._queries["ensure_feed"], {"site": key.site})
        params = {
            "site": key.site,
            "change_id": key.change_id,
            "key_id": key.key_id,
            "act": key.act.value,
            "now": now,
        }
        if tx.execute(self._queries["append_change"], params) != 1:
            raise CorruptState(f"the feed of {key.site} took no change")
        tx.execute(self._queries["notify_site"], {"site": key.site})

    def _read(self, key_id: UUID) -> MemberKey:
        row = self._database.run(
            lambda tx: tx.one(KeyRow, self._queries["key_by_id"], {"key_id": key_id}), repeatable=True
        )
        return row.key()


def _store(command: Command) -> StoreCommand:
    return StoreCommand(command.id, command.digest)


def _unreachable(_tx: Transaction, _stored: Stored | None) -> Decision:
    """Stands where a receipt is known to exist: the store compares the command with it, no more."""
    raise CorruptState("a receipt is gone")
