"""A periodic pass under its lease, whichever replica's turn it is (O3): what every worker does around it."""

import logging
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from prometheus_client import CollectorRegistry, Gauge

from central.kernel.errors import Unavailable
from central.kernel.leases import Leases
from central.kernel.observability import event


class Turn(StrEnum):
    """What became of one look at a pass."""

    DONE = "done"
    NOT_DUE = "not_due"
    """Its interval has not passed yet, or another replica is at it."""
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


class LeasedPasses:
    """The passes of one worker. What one meets is told to `log` and never raised: the next turn tries again,
    and a thread that ended would end its pass for ever.
    """

    def __init__(self, leases: Leases, registry: CollectorRegistry, log: logging.Logger) -> None:
        self._leases = leases
        self._log = log
        self._missed = Gauge(
            "pharos_pass_missed",
            "Intervals in which no replica began the pass, ever (O3).",
            ["name"],
            registry=registry,
        )

    def turn(self, name: str, work: Callable[[], object], *, every: timedelta, hold: timedelta) -> Turn:
        """Does `work` if the pass is due and nobody else's now. The lease is given back however it ends."""
        try:
            lease = self._leases.take(name, every=every, hold=hold)
            if lease is None:
                return Turn.NOT_DUE
            self._missed.labels(name).set(lease.missed)
            try:
                work()
            finally:
                self._leases.give_back(lease)
        except Unavailable as error:
            event(self._log, "pass_unavailable", level=logging.WARNING, lease=name, code=error.code)
            return Turn.UNAVAILABLE
        except Exception as error:  # noqa: BLE001 - see the class
            event(self._log, "pass_failed", level=logging.ERROR, lease=name, error=error)
            return Turn.FAILED
        return Turn.DONE
