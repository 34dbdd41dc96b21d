"""What the running Runtime says of itself, as documents. No person, Run or job is named (X9)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from site_bundle.kernel.health import Health
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.self_description import families, labelled, self_document, shown

COMPONENT = "runtime"


@dataclass(slots=True)
class Telemetry:
    """Counters since the start and the times of the latest events."""

    release: str
    pid: int
    since: datetime
    mode: str
    last_poll_at: datetime | None = None
    last_look_at: datetime | None = None
    last_receipt_at: datetime | None = None
    commands_per_minute: float = 0.0
    programs: dict[str, int] = field(default_factory=dict)
    moves: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    last_errors: dict[str, dict[str, str]] = field(default_factory=dict)


def status_document(
    telemetry: Telemetry,
    health: Health,
    *,
    feed: dict[str, Any],
    commands: dict[str, int],
    waiting: int | None,
    draining: bool | None,
    now: datetime,
) -> dict[str, Any]:
    """The document of `status.json` (docs/architecture.md)."""
    own: dict[str, Any] = {
        "feed": feed,
        "draining": draining,
        "commands": commands,
        "outbox": {"waiting": waiting},
        "slurm": {
            "commandsPerMinute": round(telemetry.commands_per_minute, 1),
            "commands": dict(sorted(telemetry.programs.items())),
        },
        "refusals": dict(sorted(telemetry.refusals.items())),
        "lastPollAt": shown(telemetry.last_poll_at),
        "lastLookAt": shown(telemetry.last_look_at),
        "lastReceiptAt": shown(telemetry.last_receipt_at),
    }
    return self_document(COMPONENT, telemetry, health, own, now)


def runtime_metrics(telemetry: Telemetry, health: Health, document: dict[str, Any]) -> list[Metric]:
    """The Runtime's families; labels are closed sets."""
    prefix = "pharos_runtime"
    moments = {
        "poll": telemetry.last_poll_at,
        "look": telemetry.last_look_at,
        "receipt": telemetry.last_receipt_at,
    }
    return [
        *families(prefix, health, moments),
        Metric(
            f"{prefix}_commands",
            "gauge",
            "Commands by act and state.",
            labelled("state", document["commands"]),
        ),
        Metric(f"{prefix}_moves", "counter", "Stages that came so far.", labelled("to", telemetry.moves)),
        Metric(
            f"{prefix}_outbox_words",
            "gauge",
            "Words on their way.",
            {(): float(document["outbox"]["waiting"] or 0)},
        ),
        Metric(
            f"{prefix}_slurm_commands",
            "counter",
            "Slurm's commands that were run.",
            labelled("program", telemetry.programs),
        ),
        Metric(
            f"{prefix}_slurm_commands_per_minute",
            "gauge",
            "Slurm's commands of the last minute.",
            {(): telemetry.commands_per_minute},
        ),
        Metric(
            f"{prefix}_draining",
            "gauge",
            "1 while nothing is begun.",
            {(): float(bool(document["draining"]))},
        ),
    ]
