"""What `once` shows: a pass as a document, and the document as lines. For the Site's people: it names
accounts.
"""

from __future__ import annotations

from typing import Any

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.times import render_time
from site_bundle.reporter.application.observe_site import Observed
from site_bundle.reporter.application.send_reports import Sent
from site_bundle.reporter.domain.decide import Fault, ResourceReport


def once_document(observed: Observed, sent: Sent, *, mode: str, commands: int) -> dict[str, Any]:
    """Everything a pass found, applied and sent."""
    decision = observed.decision
    sets = {found.resource_id: found.decided for found in decision.sets}
    return {
        "schema": 1,
        "component": "reporter",
        "mode": mode,
        "observedAt": render_time(observed.observed_at),
        "commands": commands,
        "unavailable": {name: error.code for name, error in sorted(observed.failed.items())},
        "allocations": [
            _resource(report)
            | {
                "accounts": None
                if report.resource_id not in sets
                else [
                    {
                        "name": row.name,
                        "nativeUid": row.native_uid,
                        "bindingId": str(row.identity.binding_id),
                        "generation": row.identity.generation,
                        "state": "ready" if row.ready else "incomplete",
                    }
                    for row in sets[report.resource_id].accounts
                ]
            }
            for report in decision.resources
        ],
        "faults": [_fault(fault) for fault in decision.faults],
        "waiting": [_fault(fault) for fault in decision.waiting],
        "notes": [
            {"code": note.code, "name": note.name, "resource": str(resource)}
            for resource, decided in sets.items()
            for note in decided.notes
        ],
        "differences": [
            {
                "result": item.result,
                "account": item.act.account,
                "name": item.act.association.user,
                "association": item.act.association.id,
                "bindingId": str(item.act.identity.binding_id),
                "generation": item.act.identity.generation,
            }
            for item in observed.differences
        ],
        "sent": {
            "reports": sent.reports,
            "outcomes": dict(sorted(sent.outcomes.items())),
            "refused": [_error(error) for error in sent.faults],
            "error": _error(sent.error) if sent.error else None,
        },
    }


def _fault(fault: Fault) -> dict[str, str]:
    named = {"name": fault.name} if fault.name else {}
    return {"code": fault.code, "resource": fault.resource, **named}


def _resource(report: ResourceReport) -> dict[str, Any]:
    return {
        "resource": str(report.resource_id),
        "account": report.native_name,
        "state": report.state.value,
        "paused": report.paused,
        "configured": report.configured,
        "applied": report.applied,
        "used": report.used,
    }


def _error(error: SiteError) -> dict[str, str]:
    return {"code": error.code, "found": error.found, "remedy": error.remedy}


def once_lines(document: dict[str, Any]) -> list[str]:
    """The document for people. Names are others' text: no sign of theirs steers a terminal (C18)."""
    lines = [f"observed at {document['observedAt']}, mode {document['mode']}"]
    lines += [f"  unavailable: {name} ({code})" for name, code in document["unavailable"].items()]
    for item in document["allocations"]:
        paused = ", paused" if item["paused"] else ""
        lines.append(f"{item['resource']} {item['account'] or '(no account yet)'}: {item['state']}{paused}")
        lines.append(f"  applied {_amounts(item['applied'])}, used {_amounts(item['used'])}")
        if item["accounts"] is None:
            lines.append("  accounts: not reported")
            continue
        lines += [
            f"  {row['state']:10} {row['name']} generation {row['generation']} ({row['nativeUid']})"
            for row in item["accounts"]
        ]
    for title in ("faults", "waiting", "notes"):
        lines += [
            f"{title}: {item['code']} {item.get('name', '')} {item['resource']}".replace("  ", " ")
            for item in document[title]
        ]
    lines += [
        f"{item['result']}: {item['name']} in {item['account']}, generation {item['generation']}"
        for item in document["differences"]
    ]
    sent = document["sent"]
    counts = ", ".join(f"{number} {name}" for name, number in sent["outcomes"].items())
    lines.append(f"sent {sent['reports']} reports: {counts or 'no answer'}")
    lines += [
        f"  {error['code']}: {error['found']}; remedy: {error['remedy']}"
        for error in [*sent["refused"], *([sent["error"]] if sent["error"] else [])]
    ]
    return ["".join(letter if letter.isprintable() else "?" for letter in line) for line in lines]


def _amounts(amounts: dict[str, int] | None) -> str:
    if amounts is None:
        return "unknown"
    return " ".join(f"{name}={number}" for name, number in amounts.items()) or "nothing"
