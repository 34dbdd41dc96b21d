"""`WorkStore` in PostgreSQL. Locks are taken in one order: receipt, items, standing.

A pass takes the standing last too, and per portion, so that consumers never wait for a whole pass.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.inbox import Inbox
from central.kernel.queries import load_queries
from central.kernel.site_names import Site
from central.retention.adapters.rows import (
    RecoveryRow,
    RequiredRow,
    WorkRow,
    key_params,
    recovery_params,
    work_params,
)
from central.retention.application.ports import PassLost, Snapshot
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import ItemId, Owner
from central.retention.domain.judgement import Effect, judge
from central.retention.domain.recovery import Recovery, RecoveryLimits

SCHEMA: Final = "retention"
_CONFLICT: Final = "accepted work was told with two contents under one revision"


class PostgresWork:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox = Inbox(schema=SCHEMA)
        self._queries = load_queries("central.retention", "retention.sql")

    def apply(
        self, consumer: str, messages: Sequence[tuple[UUID, AcceptedWork]], now: datetime
    ) -> Sequence[Effect | None]:
        """See `WorkStore`."""

        def work(tx: Transaction) -> Sequence[Effect | None]:
            fresh = self._inbox.receive(tx, consumer, [message for message, _ in messages], now)
            told: list[AcceptedWork | None] = []
            for message, item in messages:
                told.append(item if message in fresh else None)
                fresh.discard(message)
            effects = iter(self._judge(tx, [item for item in told if item is not None], now, verified=False))
            found = [next(effects) if item is not None else None for item in told]
            if Effect.CONFLICT in found:
                self._put_recovery(tx, self._take(tx).doubted(_CONFLICT))
            return found

        return self._database.run(work, repeatable=True)

    def recovery(self) -> Recovery:
        """See `WorkStore`."""
        return self._database.run(self._read, repeatable=True)

    def required(self, site: Site) -> Snapshot:
        """See `WorkStore`."""

        def read(tx: Transaction) -> Snapshot:
            tx.execute(self._queries["one_snapshot"])
            rows = tx.all(RequiredRow, self._queries["required"], {"site": site})
            return Snapshot(self._read(tx), [row.required(site) for row in rows])

        return self._database.run(read, repeatable=True)

    def start(self) -> Recovery:
        """See `WorkStore`."""
        return self._change(Recovery.started)

    def begin(self, now: datetime, limits: RecoveryLimits) -> Recovery | None:
        """See `WorkStore`."""

        def work(tx: Transaction) -> Recovery | None:
            standing = self._take(tx)
            return None if standing.held(now) else self._put_recovery(tx, standing.begun(now, limits))

        return self._database.run(work)

    def put(
        self, begun: Recovery, items: Sequence[AcceptedWork], now: datetime, limits: RecoveryLimits
    ) -> Sequence[Effect]:
        """See `WorkStore`."""

        def work(tx: Transaction) -> Sequence[Effect]:
            effects = self._judge(tx, items, now, verified=True)
            self._put_recovery(tx, self._still(tx, begun).kept(now, limits))
            return effects

        return self._database.run(work, repeatable=True)

    def stand(
        self,
        begun: Recovery,
        owners: tuple[Owner, ...],
        asked_at: datetime,
        now: datetime,
        limits: RecoveryLimits,
    ) -> None:
        """See `WorkStore`."""

        def work(tx: Transaction) -> None:
            self._put_recovery(tx, self._still(tx, begun).stood(owners, asked_at, now, limits))

        self._database.run(work, repeatable=True)

    def fail(self, begun: Recovery, reason: str) -> None:
        """See `WorkStore`."""
        self._change(lambda now: now.failed(reason) if now.epoch == begun.epoch else now)

    def doubt(self, reason: str) -> None:
        """See `WorkStore`."""
        self._change(lambda standing: standing.doubted(reason))

    def beat(self, now: datetime, limits: RecoveryLimits) -> Recovery:
        """See `WorkStore`."""
        return self._change(lambda standing: standing.beaten(now, limits))

    def forget_receipts(self, before: datetime) -> int:
        """See `WorkStore`."""
        return self._database.run(lambda tx: self._inbox.forget(tx, before), repeatable=True)

    def _judge(
        self, tx: Transaction, items: Sequence[AcceptedWork], now: datetime, *, verified: bool
    ) -> list[Effect]:
        """Judges items one after the other and holds what follows, until the end of the transaction."""
        if not items:
            return []
        keys = key_params({(item.owner, item.item_id): item for item in items})
        tx.execute(self._queries["lock_items"], keys)
        held: dict[tuple[Owner, ItemId], AcceptedWork] = {}
        for row in tx.all(WorkRow, self._queries["some_items"], keys):
            held[Owner(row.owner), ItemId(row.item_id)] = row.work()
        before, effects = dict(held), []
        for item in items:
            key = (item.owner, item.item_id)
            judgement = judge(held.get(key), item, verified=verified)
            effects.append(judgement.effect)
            if judgement.after is not None:
                held[key] = judgement.after
        changed = [item for key, item in held.items() if before.get(key) != item]
        if changed:
            tx.execute(self._queries["put_items"], work_params(changed) | {"now": now})
        return effects

    def _still(self, tx: Transaction, begun: Recovery) -> Recovery:
        standing = self._take(tx)
        if standing.epoch != begun.epoch:
            raise PassLost(f"epoch {begun.epoch} of recovery ended; {standing.epoch} is at work")
        return standing

    def _read(self, tx: Transaction) -> Recovery:
        return tx.one(RecoveryRow, self._queries["recovery"]).standing()

    def _take(self, tx: Transaction) -> Recovery:
        return tx.one(RecoveryRow, self._queries["take_recovery"]).standing()

    def _put_recovery(self, tx: Transaction, standing: Recovery) -> Recovery:
        tx.execute(self._queries["put_recovery"], recovery_params(standing))
        return standing

    def _change(self, change: Callable[[Recovery], Recovery]) -> Recovery:
        def work(tx: Transaction) -> Recovery:
            standing = self._take(tx)
            changed = change(standing)
            return changed if changed == standing else self._put_recovery(tx, changed)

        return self._database.run(work, repeatable=True)
