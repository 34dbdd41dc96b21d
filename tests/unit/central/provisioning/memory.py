"""The ports over dictionaries: every resource is decided, nothing is recognised by its content."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from central.kernel.errors import ObservedInFuture, Unavailable
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.site_names import Site
from central.provisioning.application.ports import Decide, Settlement, SnapshotPage
from central.provisioning.application.read_allocation import ReadAllocation
from central.provisioning.application.report import Answered, Report
from central.provisioning.application.report_resources import ReportResources
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.decision import Outcome
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef
from central.provisioning.entrypoints.reports import ReportReader
from central.provisioning.entrypoints.wire import ReportBody, allocation_body, outcomes_body
from tests.unit.central.provisioning.machine import NOW, START

INSTANCE = WaldurInstance("https://waldur.example.org/")


@dataclass(slots=True)
class Memory:
    """`Allocations` and `SavedAllocations`."""

    saved: dict[str, Saved] = field(default_factory=dict)
    answered: dict[tuple[str, UUID], tuple[Any, Sequence[Answered]]] = field(default_factory=dict)
    receipts: int = 0

    def settle(self, report: Report, decide: Decide, now: datetime) -> Settlement:
        key, content = self._identity(report)
        if key in self.answered:
            if self.answered[key][0] != content:
                raise Problem(COMMAND_REUSED, "this reportId was used for another report")
            return Settlement(self.answered[key][1], {}, (), ())
        everything = range(len(report.allocation_ids))
        if not everything:
            self.answered[key] = (content, [])
        return Settlement(None, {}, everything, everything)

    def decide(
        self,
        report: Report,
        settled: Mapping[int, Answered],
        undecided: Sequence[int],
        decide: Decide,
        now: datetime,
    ) -> Sequence[Answered]:
        answers = []
        for position in undecided:
            allocation = report.allocation_ids[position]
            saved, observation = self.saved.get(allocation), report.observation(position)
            decision = decide(saved, observation)
            answers.append(Answered(decision.outcome, decision.revision, decision.code))
            if decision.allocation is not None:
                version = saved.version + 1 if saved else 1
                self.saved[allocation] = Saved(
                    decision.allocation, version, observation.content, observation.observed_at
                )
                self.receipts += 1
            elif decision.outcome is Outcome.SEEN and saved is not None:
                self.saved[allocation] = Saved(
                    saved.allocation, saved.version, observation.content, observation.observed_at
                )
        key, content = self._identity(report)
        self.answered[key] = (content, answers)
        return answers

    def by_id(self, allocation: AllocationId) -> Saved | None:
        return self.saved.get(str(allocation))

    def by_project(self, project_id: UUID) -> Sequence[Saved]:
        return [s for _, s in sorted(self.saved.items()) if s.allocation.facts.project_id == project_id]

    def page(self, after: AllocationId | None, limit: int) -> SnapshotPage:
        raise NotImplementedError

    def _identity(self, report: Report) -> tuple[tuple[str, UUID], Any]:
        content = (report.observed_at, tuple(report.allocation_ids), tuple(report.contents))
        return (report.site, report.report_id), content


@dataclass(slots=True)
class MemoryDriver:
    """The use cases over `Memory`, spoken to as the wire is."""

    memory: Memory = field(default_factory=Memory)
    known: dict[ProviderProjectRef, UUID] = field(default_factory=dict)
    readable: bool = True

    def resolve(
        self, instance: WaldurInstance, refs: Collection[ProviderProjectRef]
    ) -> Mapping[ProviderProjectRef, UUID | None]:
        if not self.readable:
            raise Unavailable("unavailable", "the view is not loaded")
        return {ref: self.known.get(ref) for ref in refs}

    def bind(self, known: dict[str, str], readable: bool) -> None:
        self.known = {ProviderProjectRef(ref): UUID(project) for ref, project in known.items()}
        self.readable = readable

    def report(self, site: str, body: dict[str, Any]) -> tuple[int, Any]:
        decoded = msgspec.json.decode(msgspec.json.encode(body), type=ReportBody)
        report = ReportReader(INSTANCE).read(decoded, Site(site))
        now = START + timedelta(seconds=NOW)
        use_case = ReportResources(self.memory, self, INSTANCE, lambda error: None)
        try:
            answers = use_case(report, now)
        except ObservedInFuture:
            return 422, {"code": "observed_in_future"}
        except Problem as problem:
            return problem.status, {"code": problem.code}
        resource_ids = [resource.resource_id for resource in report.resources]
        told = outcomes_body(report.report_id, now, resource_ids, report.allocation_ids, answers)
        return 200, _as_sent(told)

    def allocation(self, site: str, allocation_id: str) -> tuple[int, Any]:
        saved = ReadAllocation(self.memory)(Site(site), AllocationId(UUID(allocation_id)))
        return (404, None) if saved is None else (200, _as_sent(allocation_body(saved)))

    def stored(self) -> tuple[dict[str, int], int]:
        versions = {allocation: saved.version for allocation, saved in self.memory.saved.items()}
        return versions, self.memory.receipts


def _as_sent(body: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body))
