"""What allocations should be, computed another way: from the whole history of observations that counted.

Nothing here is imported from the product, so that a mistake there is not repeated here. A resource is what
its report said (the wire's names); times are whole seconds.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Told = tuple[str, int | None, str | None]
"""Outcome, revision, code."""


@dataclass(slots=True)
class History:
    """Everything that counted about one allocation: (time, what was said, Project known then)."""

    site: str
    counted: list[tuple[int, dict[str, Any], str | None]] = field(default_factory=list)

    def facts(self, upto: int | None = None) -> dict[str, Any]:
        """The facts after the first `upto` observations (all of them)."""
        past = self.counted[:upto]
        said = [resource for _, resource, _ in past]
        last = said[-1]
        known = [project for _, _, project in past if project is not None]

        def latest(name: str) -> Any:
            return next((value for value in (r[name] for r in reversed(said)) if value is not None), None)

        return {
            "project": known[0] if known else None,
            "ref": last["providerProjectRef"],
            "native": latest("nativeName"),
            "state": last["state"],
            "paused": last["paused"],
            "configured": latest("configured"),
            "applied": last["applied"] if last["state"] == "terminated" else latest("applied"),
        }

    def revision(self) -> int:
        steps = [self.facts(n) for n in range(1, len(self.counted) + 1)]
        return 1 + sum(before != after for before, after in pairwise(steps))

    def version(self) -> int:
        steps = [(self.facts(n), self.counted[n - 1][1]["used"]) for n in range(1, len(self.counted) + 1)]
        return 1 + sum(before != after for before, after in pairwise(steps))

    def observed(self) -> int:
        """When the present version was seen first."""
        for end in range(len(self.counted), 0, -1):
            shorter = History(self.site, self.counted[: end - 1])
            if end == 1 or shorter.version() != self.version():
                return self.counted[end - 1][0]
        raise AssertionError("a history has a first observation")

    def last_seen(self) -> int:
        return max(time for time, _, _ in self.counted)

    def lifecycle(self) -> tuple[str, list[str]]:
        facts = self.facts()
        if facts["state"] == "terminated":
            return "retired", []
        unsettled = facts["configured"] is None or facts["configured"] != facts["applied"]
        reasons = []
        if facts["project"] is None:
            reasons.append("project_unbound")
        if facts["state"] in ("creating", "terminating"):
            reasons.append("provisioning")
        if facts["state"] == "erred":
            reasons.append("provider_erred")
        if reasons:
            return "pending", reasons + ["limits_not_applied"] * unsettled
        if facts["paused"]:
            return "suspended", []
        if not unsettled:
            return "ready", []
        return ("changing" if facts["applied"] else "pending"), ["limits_not_applied"]


@dataclass(slots=True)
class Model:
    """Every allocation by resource id, what every report was told, how many commands changed something."""

    allocations: dict[str, History] = field(default_factory=dict)
    answered: dict[tuple[str, str], tuple[Any, list[Told]]] = field(default_factory=dict)
    commands: int = 0

    def copy(self) -> Model:
        return deepcopy(self)

    def report(self, site: str, body: dict[str, Any], projects: dict[str, str]) -> list[Told] | None:
        """What each resource is told; None where the whole report is refused because its id was used."""
        key = (site, body["reportId"])
        if key in self.answered:
            earlier, told = self.answered[key]
            return told if earlier == body else None
        told = [self._one(site, body["time"], resource, projects) for resource in body["resources"]]
        self.answered[key] = (deepcopy(body), told)
        return told

    def _one(self, site: str, time: int, resource: dict[str, Any], projects: dict[str, str]) -> Told:
        history = self.allocations.get(resource["resourceId"])
        project = projects.get(resource["providerProjectRef"])
        if history is None:
            history = self.allocations[resource["resourceId"]] = History(site)
            history.counted.append((time, deepcopy(resource), project))
            self.commands += 1
            return "changed", 1, None
        revision = history.revision()
        if history.site != site:
            return "refused", None, "other_site"
        facts, last = history.facts(), history.counted[-1][1]
        moved = resource["providerProjectRef"] != facts["ref"] and facts["project"] is not None
        if moved or resource["offeringId"] != last["offeringId"]:
            return "refused", revision, "binding_changed"
        if time < history.last_seen():
            return "stale_report", revision, None
        if facts["state"] == "terminated":
            return "unchanged", revision, None
        if time == history.last_seen():
            return ("unchanged" if resource == last else "conflicting_report"), revision, None
        version = history.version()
        history.counted.append((time, deepcopy(resource), project))
        if history.version() == version:
            return "seen", revision, None
        self.commands += 1
        return "changed", history.revision(), None
