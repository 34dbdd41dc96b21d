"""What every running component says in the same way: checks that changed, the two files, the service manager
(X9).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.health import Check, Health, Status
from site_bundle.kernel.logs import Log
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.times import render_time

_WATCHDOG_EVERY = 1.0


class StatusSink(Protocol):
    """Where the two documents are shown; OSError when they cannot be."""

    def write(self, document: dict[str, Any], metrics: list[Metric]) -> None: ...


class Told(Protocol):
    """What a component's telemetry has besides its own counters."""

    release: str
    mode: str
    last_errors: dict[str, dict[str, str]]


class Voice:
    """A component adds its own events, and says what its documents are. Nothing here names a person."""

    def __init__(
        self,
        *,
        log: Log,
        health: Health,
        told: Told,
        files: StatusSink,
        notifier: Notifier,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        self._log = log
        self._health = health
        self._told = told
        self._files = files
        self._notifier = notifier
        self._now = now
        self._monotonic = monotonic
        self._fed_at = float("-inf")
        self._files_fault = ""

    def documents(self, now: datetime) -> tuple[dict[str, Any], list[Metric]]:
        """`status.json` and the metric families as they are now."""
        raise NotImplementedError

    def progress(self) -> None:
        """A step is finished: the watchdog may know."""
        moment = self._monotonic()
        if moment - self._fed_at >= _WATCHDOG_EVERY:
            self._fed_at = moment
            self._notifier.send("WATCHDOG=1")

    # Checks.

    def passed(self, check_id: str, found: str) -> None:
        self.show(Check(check_id, Status.PASS, found))

    def failed(self, check_id: str, error: SiteError, status: Status = Status.FAIL) -> None:
        self._told.last_errors[check_id] = {
            "code": error.code,
            "found": error.found,
            "at": render_time(self._now()),
        }
        self.show(Check.of_error(check_id, error, status))

    def show(self, check: Check) -> None:
        """Takes the check; a line when it is another than before."""
        if not self._health.set(check, self._now()):
            return
        write = self._log.info if check.status is Status.PASS else self._log.warning
        write(
            "check",
            check=check.id,
            status=check.status.value,
            code=check.code or None,
            found=check.found,
            wanted=check.wanted or None,
            remedy=check.remedy or None,
        )

    # The service manager and the files.

    def ready(self) -> None:
        self._log.notice("started", release=self._told.release, mode=self._told.mode)
        self.publish("READY=1")

    def stopping(self) -> None:
        self._log.notice("stopping")
        self._notifier.send("STOPPING=1", "STATUS=stopping")

    def publish(self, *lines: str) -> None:
        """Writes the files, tells the manager the state in a sentence, and feeds the watchdog."""
        document, metrics = self.documents(self._now())
        try:
            self._files.write(document, metrics)
            self._files_fault = ""
        except OSError as error:
            if self._files_fault != str(error):
                self._log.warning("status_unwritten", error=error.strerror)
            self._files_fault = str(error)
        self._fed_at = self._monotonic()
        self._notifier.send(*lines, f"STATUS={self._sentence()}", "WATCHDOG=1")

    def _sentence(self) -> str:
        mode = "observing" if self._told.mode == "observe" else "applying"
        faults = "; ".join(f"{check.id}: {check.code or check.found}" for check in self._health.failing())
        return f"{self._health.state}, {mode}" + (f" ({faults})" if faults else "")
