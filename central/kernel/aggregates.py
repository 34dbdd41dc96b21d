"""The generic aggregate store: receipt, version and state in one transaction (X7, P7).

Each context has its own tables in its own schema, made by its first migration with
``SELECT pharos.create_aggregate_store('<schema>');``:

* ``aggregate_heads(kind, id, version, digest)``, one row an aggregate, moved by compare-and-set;
* ``aggregate_versions(kind, id, version, command_id, snapshot, digest, recorded_at)``, insert-only;
* ``receipts(command_id, request_digest, kind, id, version, answer, recorded_at)``, insert-only.

A row whose digest, version or id contradicts another is ``CorruptState``: refused, never repaired.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.driver_errors import ConstraintViolated, TransactionConflict
from central.kernel.errors import CorruptState
from central.kernel.problems import COMMAND_REUSED, VERSION_CONFLICT, Problem
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant


@dataclass(frozen=True, slots=True)
class Command:
    """What asks for a change: its id and a digest of everything it asks for (``request_digest``)."""

    id: UUID
    digest: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """The latest version of an aggregate as it was saved: ``snapshot`` is canonical JSON, ``version`` from
    1.
    """

    kind: str
    id: UUID
    version: int
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class Decision:
    """What a use case decided: the new snapshot (None: no change) and the answer kept in the receipt."""

    snapshot: bytes | None
    answer: bytes = b""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The durable answer to one command. ``repeated`` is True when it had been recorded before this call."""

    command_id: UUID
    aggregate_id: UUID
    version: int
    answer: bytes
    recorded_at: datetime
    repeated: bool


Decide = Callable[[Transaction, Stored | None], Decision]
"""Decides from the saved state, and may run its context's own statements in the same transaction.

It is run again as a whole after a conflict, so it touches nothing but the transaction. A ``Problem`` or any
other exception it raises rolls everything back and leaves no receipt.
"""


class Aggregates:
    """One context's store. ``schema`` is the context's schema."""

    def __init__(self, database: Database, *, schema: str) -> None:
        self._database = database
        self._queries = load_queries("central.kernel", "aggregates.sql", schema=schema)

    def load(self, kind: str, aggregate_id: UUID) -> Stored | None:
        """Return the latest version, None if it never existed; ``CorruptState`` if rows contradict each
        other.
        """
        return self._database.run(lambda tx: self.load_in(tx, kind, aggregate_id), repeatable=True)

    def load_in(self, tx: Transaction, kind: str, aggregate_id: UUID) -> Stored | None:
        """As ``load``, inside the caller's transaction."""
        return self.load_all_in(tx, kind, [aggregate_id]).get(aggregate_id)

    def load_all_in(self, tx: Transaction, kind: str, ids: Collection[UUID]) -> dict[UUID, Stored]:
        """The latest version of each of them that ever existed, by one statement; ``CorruptState`` as
        ``load``.
        """
        params = {"kind": kind, "ids": list(dict.fromkeys(ids))}
        rows = tx.all(_Latest, self._queries["latest"], params)
        found = {row.id: row.checked(kind) for row in rows}
        return {aggregate_id: stored for aggregate_id, stored in found.items() if stored is not None}

    def decide(
        self, command: Command, kind: str, aggregate_id: UUID, decide: Decide, *, now: datetime
    ) -> Receipt:
        """Decide once and return the receipt; the same command again returns the same receipt.

        Raises ``Problem(COMMAND_REUSED)`` if the id was recorded with another digest, kind or aggregate,
        ``Problem(VERSION_CONFLICT)`` when the retries ran out.
        """
        try:
            return self._database.run(
                lambda tx: self.decide_in(tx, command, kind, aggregate_id, decide, now=now), repeatable=True
            )
        except TransactionConflict as conflict:
            raise Problem(VERSION_CONFLICT, "others changed the same thing on every try; retry") from conflict

    def decide_in(
        self,
        tx: Transaction,
        command: Command,
        kind: str,
        aggregate_id: UUID,
        decide: Decide,
        *,
        now: datetime,
    ) -> Receipt:
        """As ``decide``, inside the caller's transaction, which must be run with ``repeatable=True``."""
        found = self._find_receipt(tx, command.id)
        if found is not None:
            return found.repeat_of(command, kind, aggregate_id)
        key = {"kind": kind, "id": aggregate_id}
        tx.execute(self._queries["lock_head"], key)
        stored = self.load_in(tx, kind, aggregate_id)
        decision = decide(tx, stored)
        version = stored.version if stored else 0
        try:
            if decision.snapshot is not None and (stored is None or decision.snapshot != stored.snapshot):
                version += 1
                self._save(tx, command, Stored(kind, aggregate_id, version, decision.snapshot), now)
            row = _ReceiptRow(command.id, command.digest, kind, aggregate_id, version, decision.answer, now)
            tx.execute(
                self._queries["add_receipt"],
                key
                | {
                    "command_id": command.id,
                    "request_digest": command.digest,
                    "version": version,
                    "answer": decision.answer,
                    "now": now,
                },
            )
        except ConstraintViolated as error:
            if error.constraint in _RACES:
                raise TransactionConflict(
                    f"{kind} {aggregate_id} or its command was decided elsewhere"
                ) from None
            raise
        return row.receipt(repeated=False)

    def receipt(self, command_id: UUID) -> Receipt | None:
        """Return the receipt of a command, if it was recorded."""
        row = self._database.run(lambda tx: self._find_receipt(tx, command_id), repeatable=True)
        return row.receipt(repeated=True) if row else None

    def _find_receipt(self, tx: Transaction, command_id: UUID) -> "_ReceiptRow | None":
        return tx.maybe(_ReceiptRow, self._queries["receipt"], {"command_id": command_id})

    def _save(self, tx: Transaction, command: Command, new: Stored, now: datetime) -> None:
        params = {
            "kind": new.kind,
            "id": new.id,
            "version": new.version,
            "command_id": command.id,
            "snapshot": new.snapshot.decode(),
            "digest": _digest(new),
            "now": now,
        }
        tx.execute(self._queries["add_version"], params)
        moved = tx.execute(self._queries["add_head" if new.version == 1 else "move_head"], params)
        if moved != 1:
            raise TransactionConflict(f"{new.kind} {new.id} moved while it was decided")


_RACES = frozenset({"receipts_pkey", "aggregate_heads_pkey", "aggregate_versions_pkey"})


def request_digest(*parts: bytes) -> bytes:
    """SHA-256 over length-prefixed parts: the same command again has the same digest."""
    return hashlib.sha256(framed(*parts)).digest()


def framed(*parts: bytes) -> bytes:
    """What ``request_digest`` hashes: each part after its length, so that no two lists of parts are alike."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)])


def _digest(stored: Stored) -> bytes:
    """Covers identity and version too, so that swapped rows are noticed."""
    return request_digest(
        stored.kind.encode(), stored.id.bytes, stored.version.to_bytes(8, "big"), stored.snapshot
    )


@dataclass(frozen=True, slots=True)
class _Latest:
    id: UUID
    head_version: int | None
    head_digest: bytes | None
    version: int | None
    digest: bytes | None
    snapshot: str | None
    newest: int | None

    def checked(self, kind: str) -> Stored | None:
        if self.head_version is None and self.newest is None:
            return None
        if self.version is None or self.snapshot is None or self.newest != self.head_version:
            raise CorruptState(f"{kind} {self.id}: the head and the newest version differ")
        stored = Stored(kind, self.id, self.version, self.snapshot.encode())
        if not _digest(stored) == self.digest == self.head_digest:
            raise CorruptState(f"{kind} {self.id}: version {self.version} differs from its digest")
        return stored


@dataclass(frozen=True, slots=True)
class _ReceiptRow:
    command_id: UUID
    request_digest: bytes
    kind: str
    id: UUID
    version: int
    answer: bytes
    recorded_at: datetime

    def receipt(self, *, repeated: bool) -> Receipt:
        return Receipt(
            self.command_id, self.id, self.version, self.answer, stored_instant(self.recorded_at), repeated
        )

    def repeat_of(self, command: Command, kind: str, aggregate_id: UUID) -> Receipt:
        if (self.request_digest, self.kind, self.id) != (command.digest, kind, aggregate_id):
            raise Problem(COMMAND_REUSED, "this command id was recorded with other content; use a new id")
        return self.receipt(repeated=True)
