"""A Site reports its resources (P2, P5, P6, P8, P12).

Most are as they were a minute ago: one statement renews those and says which are not; the rest is decided in
the same transaction. Only where a Project is not proven yet it is looked up first, with no transaction open
(F08), and the rest is decided in a transaction of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.errors import Unavailable
from central.kernel.times import check_not_ahead
from central.provisioning.application.ports import Allocations, Decide, ProjectBindings
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.decision import Decision, decide
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.domain.observation import Observation, ProviderProjectRef


@dataclass(frozen=True, slots=True)
class ReportResources:
    """The use case. `on_unresolved` is told when Projects could not be looked up; the reports still count."""

    allocations: Allocations
    bindings: ProjectBindings
    instance: WaldurInstance
    on_unresolved: Callable[[Unavailable], None]

    def __call__(self, report: Report, now: datetime) -> Sequence[Answered]:
        """One answer a resource, in order. Raises `ObservedInFuture`, `Unavailable`, `Problem`."""
        check_not_ahead(report.observed_at, now)
        so_far = self.allocations.settle(report, self._decide({}, now), now)
        if so_far.recorded is not None:
            return so_far.recorded
        projects = self._resolve(report, so_far.unproven)
        decided = self._decide(projects, now)
        return self.allocations.decide(report, so_far.settled, so_far.undecided, decided, now)

    def _decide(self, projects: Mapping[ProviderProjectRef, UUID | None], now: datetime) -> Decide:
        def decided(saved: Saved | None, observation: Observation) -> Decision:
            return decide(
                saved,
                observation,
                now,
                instance=self.instance,
                project_id=projects.get(observation.provider_project_ref),
            )

        return decided

    def _resolve(self, report: Report, unproven: Sequence[int]) -> Mapping[ProviderProjectRef, UUID | None]:
        """What cannot be looked up now stays unproven, which claims nothing: the next report asks again."""
        refs = {report.observation(position).provider_project_ref for position in unproven}
        if not refs:
            return {}
        try:
            return self.bindings.resolve(self.instance, refs)
        except Unavailable as error:
            self.on_unresolved(error)
            return {}
