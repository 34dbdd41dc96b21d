"""Consumer receipts: a message is applied once per consumer, in one transaction with its effect (P13, X7).

The table stands in the context's own schema, made by its migration with
``SELECT pharos.create_inbox('<schema>', '<process role>');``.
"""

from datetime import datetime
from uuid import UUID

from central.kernel.database import Transaction
from central.kernel.queries import load_queries


class Inbox:
    """The receipts of one context. ``schema`` is the context's schema."""

    def __init__(self, *, schema: str) -> None:
        self._queries = load_queries("central.kernel", "inbox.sql", schema=schema)

    def receive(self, tx: Transaction, consumer: str, message_id: UUID, now: datetime) -> bool:
        """Note the message; False if its effect was committed before, and then nothing is to be done.

        While another transaction is applying the same message this waits for its end.
        """
        params = {"consumer": consumer, "message_id": message_id, "now": now}
        return tx.execute(self._queries["receive"], params) == 1

    def forget(self, tx: Transaction, before: datetime) -> int:
        """Forget receipts older than ``before``; a message that old changes nothing, for its revision is
        old.
        """
        return tx.execute(self._queries["forget"], {"before": before})
