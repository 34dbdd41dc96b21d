"""The generic aggregate store: receipt, version and state in one transaction (X7, P7).

Each context has its own tables in its own schema, made by its first migration with
``SELECT pharos.create_aggregate_store('<schema>');``:

* ``aggregate_heads(kind, id, version, digest)``, one row an aggregate, moved by compare-and-set;
* ``aggregate_versions(kind, id, version, command_id, snapshot, digest, recorded_at)``, insert-only;
* ``receipts(command_id, request_digest, kind, id, version, answer, recorded_at)``, insert-only.

A row whose digest, version or id contradicts another is ``CorruptState``: refused, never repaired.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class Command:
    """What asks for a change: its id and a digest of everything it asks for (``request_digest``)."""

    id: UUID
    digest: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """The latest version of an aggregate as it was saved: ``snapshot`` is canonical JSON, ``version`` from 1."""

    kind: str
    id: UUID
    version: int
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class Decision:
    """What a use case decided: the new snapshot (None: nothing changes) and the answer kept in the receipt."""

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

It is run again as a whole after a conflict, so it touches nothing but the transaction. A ``Problem`` or any other
exception it raises rolls everything back and leaves no receipt.
"""


def request_digest(*parts: bytes) -> bytes:
    """SHA-256 over length-prefixed parts: the same command again has the same digest."""
    raise NotImplementedError


class Aggregates:
    """One context's store. ``schema`` is the context's schema."""

    def __init__(self, database: Database, *, schema: str) -> None:
        self._database = database
        self._schema = schema

    def load(self, kind: str, aggregate_id: UUID) -> Stored | None:
        """Return the latest version, None if it never existed, ``CorruptState`` if rows contradict each other."""
        raise NotImplementedError

    def load_in(self, tx: Transaction, kind: str, aggregate_id: UUID) -> Stored | None:
        """As ``load``, inside the caller's transaction."""
        raise NotImplementedError

    def decide(
        self, command: Command, kind: str, aggregate_id: UUID, decide: Decide, *, now: datetime
    ) -> Receipt:
        """Decide once and return the receipt; the same command again returns the same receipt.

        Raises ``Problem(COMMAND_REUSED)`` if the id was recorded with another digest, kind or aggregate.
        """
        raise NotImplementedError

    def receipt(self, command_id: UUID) -> Receipt | None:
        """Return the receipt of a command, if it was recorded."""
        raise NotImplementedError
