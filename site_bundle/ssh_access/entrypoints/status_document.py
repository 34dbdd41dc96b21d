"""What the running agent says of itself, as documents: `status.json` and the metric families. No person is
named (X9).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from site_bundle.kernel.health import Health
from site_bundle.kernel.metrics import Labels, Metric
from site_bundle.kernel.self_description import families, labelled, self_document, shown

COMPONENT = "ssh-access"


@dataclass(slots=True)
class Telemetry:
    """Counters since the start and the times of the latest events."""

    release: str
    pid: int
    since: datetime
    mode: str
    last_poll_at: datetime | None = None
    last_report_at: datetime | None = None
    last_reconcile_at: datetime | None = None
    operations: dict[tuple[str, str], int] = field(default_factory=dict)
    drift: int = 0
    last_errors: dict[str, dict[str, str]] = field(default_factory=dict)

    def count_operation(self, change: str, result: str) -> None:
        self.operations[change, result] = self.operations.get((change, result), 0) + 1


def status_document(
    telemetry: Telemetry,
    health: Health,
    *,
    feed: dict[str, Any],
    keys: dict[str, int],
    extra: dict[str, Any],
    now: datetime,
) -> dict[str, Any]:
    """The document of `status.json` (docs/architecture.md)."""
    own: dict[str, Any] = {
        "feed": feed,
        "sequence": feed["sequence"],
        "keys": keys,
        "lastPollAt": shown(telemetry.last_poll_at),
        "lastReportAt": shown(telemetry.last_report_at),
        "lastReconcileAt": shown(telemetry.last_reconcile_at),
        **extra,
    }
    return self_document(COMPONENT, telemetry, health, own, now)


def agent_metrics(telemetry: Telemetry, health: Health, document: dict[str, Any]) -> list[Metric]:
    """The agent's families; labels are closed sets."""
    prefix = "pharos_ssh_access"
    moments = {
        "poll": telemetry.last_poll_at,
        "report": telemetry.last_report_at,
        "reconcile": telemetry.last_reconcile_at,
    }
    operations: dict[Labels, float] = {
        (("change", change), ("result", result)): float(number)
        for (change, result), number in telemetry.operations.items()
    }
    return [
        *families(prefix, health, moments),
        Metric(
            f"{prefix}_keys",
            "gauge",
            "Desired keys by outcome.",
            labelled("outcome", document["keys"]),
        ),
        Metric(
            f"{prefix}_directory_operations", "counter", "Single-value changes since the start.", operations
        ),
        Metric(
            f"{prefix}_drift_repaired",
            "counter",
            "Changes undone that others made.",
            {(): float(telemetry.drift)},
        ),
        Metric(
            f"{prefix}_removal_waiting_seconds",
            "gauge",
            "Age of the oldest removal that waits for the directory.",
            {(): float(document["removalWaitingSeconds"])},
        ),
        Metric(
            f"{prefix}_removal_cache_seconds",
            "gauge",
            "How long sssd may still show a removed key.",
            {(): float(document["removalCacheSeconds"])},
        ),
    ]
