"""Consumer receipts: a message is applied once per consumer, in one transaction with its effect (P13, X7).

The table stands in the context's own schema, made by its migration with
``SELECT pharos.create_inbox('<schema>', '<process role>');``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Transaction
from central.kernel.queries import load_queries


class Inbox:
    """The receipts of one context. ``schema`` is the context's schema."""

    def __init__(self, *, schema: str) -> None:
        self._queries = load_queries("central.kernel", "inbox.sql", schema=schema)

    def receive(
        self, tx: Transaction, consumer: str, message_ids: Sequence[UUID], now: datetime
    ) -> set[UUID]:
        """Note the messages; return those whose effect was not committed before. The others are done.

        While another transaction is applying one of them this waits for its end.
        """
        params = {"consumer": consumer, "ids": list(message_ids), "now": now}
        return {row.message_id for row in tx.all(_Noted, self._queries["receive"], params)}

    def forget(self, tx: Transaction, before: datetime) -> int:
        """Forget receipts older than ``before``; a message that old changes nothing, for its revision is
        old.
        """
        return tx.execute(self._queries["forget"], {"before": before})


@dataclass(frozen=True, slots=True)
class _Noted:
    message_id: UUID
