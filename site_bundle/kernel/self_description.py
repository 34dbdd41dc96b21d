"""What `status.json` and the metrics of every component have in common (X9, docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from site_bundle.kernel.health import Health, Status
from site_bundle.kernel.metrics import Labels, Metric
from site_bundle.kernel.times import render_time

STATES = ("starting", "ready", "degraded")


class Self(Protocol):
    """What a component's telemetry says of the process."""

    release: str
    pid: int
    since: datetime
    mode: str
    last_errors: dict[str, dict[str, str]]


def self_document(
    component: str, told: Self, health: Health, own: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """The document of `status.json`; `own` is what this component alone says."""
    return {
        "schema": 1,
        "component": component,
        "release": told.release,
        "pid": told.pid,
        "state": health.state,
        "since": render_time(told.since),
        "updatedAt": render_time(now),
        "mode": told.mode,
        "checks": health.document(),
        **own,
        "lastErrors": told.last_errors,
    }


def shown(instant: datetime | None) -> str | None:
    """A time of a document; None where there was none yet."""
    return render_time(instant) if instant is not None else None


def families(prefix: str, health: Health, moments: Mapping[str, datetime | None]) -> list[Metric]:
    """State, checks and last successes; labels are closed sets."""
    states: dict[Labels, float] = {(("state", name),): float(health.state == name) for name in STATES}
    checks: dict[Labels, float] = {
        (("check", check.id),): float(check.status in {Status.PASS, Status.WARN})
        for check, _ in health.checks.values()
    }
    succeeded: dict[Labels, float] = {
        (("event", name),): moment.timestamp() for name, moment in moments.items() if moment is not None
    }
    return [
        Metric(f"{prefix}_state", "gauge", "1 for the state it is in.", states),
        Metric(f"{prefix}_check_passed", "gauge", "1 when the check passes.", checks),
        Metric(f"{prefix}_last_success_timestamp_seconds", "gauge", "When it last succeeded.", succeeded),
    ]


def labelled(name: str, counts: Mapping[str, float]) -> dict[Labels, float]:
    """Samples of one label."""
    return {((name, key),): float(number) for key, number in sorted(counts.items())}
