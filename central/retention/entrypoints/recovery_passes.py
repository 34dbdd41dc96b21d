"""Recovery passes of a worker: made when due, while its consumers are watched (P29, O3).

1. The first thing a worker does is to end what stood: `start` (`central/retention/domain/recovery.py`).
2. What stands is renewed only while every consumer goes on; a worker whose consumers hang lets it lapse.
3. A pass that failed is made again after a growing pause; one at work elsewhere is waited for.
"""

import logging
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from central.kernel.broker import BackOff, Consumer, Handled, Subscription
from central.kernel.errors import Unavailable
from central.kernel.observability import event
from central.kernel.times import Clock
from central.retention.application.ports import WorkStore
from central.retention.application.recover import Pass, Recover, Recovered
from central.retention.entrypoints.events import WorkConsumer

_LOG: Final = logging.getLogger("central.retention")


class WatchedConsumer(Consumer):
    """A consumer that remembers when it last handled all it fetched."""

    def __init__(self, handle: WorkConsumer, clock: Clock) -> None:
        super().__init__(handle.queue.spec.name, handle, check=handle.check)
        self._clock = clock
        self.turned_at: datetime | None = None

    def turn(self, subscription: Subscription, *, wait: float = 0.0) -> Handled:
        """See `Consumer`."""
        handled = super().turn(subscription, wait=wait)
        if handled.retried == 0:
            self.turned_at = self._clock()
        return handled

    def turned_since(self, since: datetime) -> bool:
        """Whether it went on consuming."""
        return self.turned_at is not None and self.turned_at >= since


class RetentionMetrics:
    """What the worker counts; labels are outcomes, never names (X9)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.passes = Counter(
            "pharos_recovery_passes_total",
            "Recovery passes over owners of accepted work; `failed` and `elsewhere` are missed ones.",
            ["outcome"],
            registry=registry,
        )
        self.standing = Gauge(
            "pharos_recovery_standing", "1 while a complete list can be answered.", registry=registry
        )


class RecoveryPasses:
    """Makes the passes that are due and renews what stands; one a worker, on a thread of its own."""

    def __init__(
        self,
        store: WorkStore,
        recover: Recover,
        consumers: Sequence[WatchedConsumer],
        metrics: RetentionMetrics,
    ) -> None:
        self._store = store
        self._recover = recover
        self._consumers = consumers
        self._metrics = metrics
        self._back_off = BackOff()
        self._failures = 0
        self._started = False

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        while not stop.is_set():
            stop.wait(self.turn())

    def turn(self) -> float:
        """Looks once; how many seconds to wait before the next look."""
        try:
            return self._look()
        except Unavailable as error:
            event(_LOG, "recovery_unreadable", level=logging.WARNING, code=error.code)
        except Exception as error:  # noqa: BLE001 - a thread that ends would leave no list for ever
            event(_LOG, "recovery_broken", level=logging.ERROR, error=error)
        return self._failed()

    def _look(self) -> float:
        recover = self._recover
        if not self._started:
            self._store.start()
            self._started = True
        now = recover.clock()
        standing = self._store.beat(now, recover.limits) if self._consuming(now) else self._store.recovery()
        self._metrics.standing.set(standing.missing(recover.owners, now, recover.limits) is None)
        if not standing.due(recover.owners, now, recover.limits):
            self._failures = 0
            return recover.limits.beat
        return self._pass()

    def _pass(self) -> float:
        ended = self._recover()
        self._metrics.passes.labels(ended.outcome.value).inc()
        self._metrics.standing.set(ended.outcome is Pass.STOOD)
        _tell(ended)
        if ended.outcome is Pass.FAILED:
            return self._failed()
        self._failures = 0
        if ended.outcome is Pass.STOOD:
            self._store.forget_receipts(self._recover.clock() - self._recover.limits.receipts_kept)
        return self._recover.limits.beat

    def _consuming(self, now: datetime) -> bool:
        limits = self._recover.limits
        since = now - timedelta(seconds=limits.quiet_beats * limits.beat)
        return all(consumer.turned_since(since) for consumer in self._consumers)

    def _failed(self) -> float:
        self._failures += 1
        return self._back_off.pause(self._failures)


def _tell(ended: Recovered) -> None:
    event(
        _LOG,
        "recovery_pass",
        level=logging.INFO if ended.outcome is Pass.STOOD else logging.WARNING,
        outcome=ended.outcome.value,
        items=ended.items,
        reason=ended.reason,
    )
