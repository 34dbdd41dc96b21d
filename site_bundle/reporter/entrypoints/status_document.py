"""What the running reporter says of itself, as documents: `status.json` and the metric families. No person
and no allocation is named (X9).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from site_bundle.kernel.health import Health
from site_bundle.kernel.metrics import Metric
from site_bundle.kernel.self_description import families, labelled, self_document, shown
from site_bundle.reporter.application.observe_site import Observed
from site_bundle.reporter.domain.usage import Compared

COMPONENT = "reporter"


@dataclass(slots=True)
class Telemetry:
    """Counters since the start, and counts of the latest pass: what it found itself is not held while the
    process is idle (S10).
    """

    release: str
    pid: int
    since: datetime
    mode: str
    observed_at: datetime | None = None
    allocations: dict[str, Any] = field(default_factory=dict)
    accounts: dict[str, Any] = field(default_factory=dict)
    differences: dict[str, int] = field(default_factory=dict)
    usage: Compared | None = None
    pass_seconds: float = 0.0
    pass_commands: int = 0
    last_receipt_at: datetime | None = None
    passes: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    applied: Counter[str] = field(default_factory=Counter)
    last_errors: dict[str, dict[str, str]] = field(default_factory=dict)


def status_document(
    telemetry: Telemetry, health: Health, *, outbox: tuple[int, datetime | None] | None, now: datetime
) -> dict[str, Any]:
    """The document of `status.json` (docs/architecture.md)."""
    number, oldest = outbox or (None, None)
    own: dict[str, Any] = {
        "lastObservedAt": shown(telemetry.observed_at),
        "lastReceiptAt": shown(telemetry.last_receipt_at),
        "pass": {"seconds": round(telemetry.pass_seconds, 3), "commands": telemetry.pass_commands},
        "outbox": {"waiting": number, "oldestObservedAt": shown(oldest)},
        "allocations": telemetry.allocations,
        "accounts": telemetry.accounts,
        "differences": telemetry.differences,
        "usage": usage(telemetry.usage),
        "outcomes": dict(sorted(telemetry.outcomes.items())),
    }
    return self_document(COMPONENT, telemetry, health, own, now)


def allocations(observed: Observed) -> dict[str, Any]:
    """Counts of a pass."""
    decision = observed.decision
    return {
        "resources": len(decision.resources),
        "accountReports": len(decision.sets),
        "waiting": len(decision.waiting),
        "faults": dict(sorted(Counter(fault.code for fault in decision.faults).items())),
    }


def accounts(observed: Observed) -> dict[str, Any]:
    """Counts of a pass; `notes` say why accounts are not ready."""
    found = [found.decided for found in observed.decision.sets]
    rows = [row for each in found for row in each.accounts]
    return {
        "ready": sum(row.ready for row in rows),
        "incomplete": sum(not row.ready for row in rows),
        "notes": dict(sorted(Counter(note.code for each in found for note in each.notes).items())),
    }


def differences(observed: Observed) -> dict[str, int]:
    """What a pass applied, or would."""
    return dict(sorted(Counter(item.result for item in observed.differences).items()))


def usage(compared: Compared | None) -> dict[str, int] | None:
    """The latest cross-check of the month's totals."""
    if compared is None:
        return None
    return {"compared": compared.number, "above": len(compared.above), "behind": len(compared.behind)}


def reporter_metrics(telemetry: Telemetry, health: Health, document: dict[str, Any]) -> list[Metric]:
    """The reporter's families; labels are closed sets."""
    prefix = "pharos_reporter"
    moments = {"observation": telemetry.observed_at, "receipt": telemetry.last_receipt_at}
    states = _counts(document["accounts"], "ready", "incomplete")
    found = document["allocations"]
    return [
        *families(prefix, health, moments),
        Metric(f"{prefix}_passes", "counter", "Passes by result.", labelled("result", telemetry.passes)),
        Metric(
            f"{prefix}_outcomes", "counter", "Central's outcomes.", labelled("outcome", telemetry.outcomes)
        ),
        Metric(f"{prefix}_applied", "counter", "Acts by result.", labelled("result", telemetry.applied)),
        Metric(f"{prefix}_accounts", "gauge", "Accounts of the latest pass.", labelled("state", states)),
        Metric(
            f"{prefix}_allocations",
            "gauge",
            "Allocations of the latest pass.",
            labelled("kind", _counts(found, "resources", "accountReports")),
        ),
        Metric(
            f"{prefix}_allocation_faults",
            "gauge",
            "Allocations without a whole report.",
            labelled("code", found.get("faults", {})),
        ),
        Metric(
            f"{prefix}_outbox_reports",
            "gauge",
            "Reports on their way.",
            {(): float(document["outbox"]["waiting"] or 0)},
        ),
        Metric(
            f"{prefix}_pass_seconds", "gauge", "Duration of the latest pass.", {(): telemetry.pass_seconds}
        ),
        Metric(
            f"{prefix}_pass_commands",
            "gauge",
            "Slurm commands of the latest pass.",
            {(): float(telemetry.pass_commands)},
        ),
    ]


def _counts(found: dict[str, Any], *names: str) -> dict[str, int]:
    """Those of a document's counts; none before the first pass."""
    return {name: found[name] for name in names if name in found}
