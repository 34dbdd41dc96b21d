"""`/resource-provisioning/<site>/…`: what a Site's agent reports and reads of its allocations (P11, P12)."""

import logging
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from flask import Blueprint, Response

from central.kernel.errors import ObservedInFuture
from central.kernel.http import answer, read_json, read_query
from central.kernel.observability import bound, event
from central.kernel.problems import NOT_FOUND, OBSERVED_IN_FUTURE, Problem
from central.kernel.site_names import Site
from central.kernel.strict_json import JsonLimits
from central.kernel.times import Clock
from central.provisioning.application.read_allocation import ReadAllocation
from central.provisioning.application.report_resources import ReportResources
from central.provisioning.domain.ids import AllocationId, canonical_uuid
from central.provisioning.entrypoints import wire
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from central.provisioning.entrypoints.intake_metrics import IntakeMetrics
from central.provisioning.entrypoints.reports import ReportReader

LIMITS: Final = JsonLimits(items=200_000)
"""A thousand resources with a dozen components each in three lists stay below; bytes bound the rest."""

_LOG = logging.getLogger("central.provisioning")


@dataclass(frozen=True, slots=True)
class IntakeRoutes:
    """The routes of every Site that has a key; nothing is mounted for another."""

    keys: IntakeKeys
    reader: ReportReader
    report_resources: ReportResources
    read_allocation: ReadAllocation
    metrics: IntakeMetrics
    clock: Clock

    def blueprints(self) -> list[Blueprint]:
        """One blueprint a Site, ready to be mounted."""
        return [self._blueprint(site) for site in self.keys.sites]

    def _blueprint(self, site: Site) -> Blueprint:
        blueprint = Blueprint(f"intake_{site}", __name__, url_prefix=f"/resource-provisioning/{site}")
        blueprint.add_url_rule("/reports", "reports", partial(self.reports, site), methods=["POST"])
        blueprint.add_url_rule(
            "/allocations/<allocation>", "allocation", partial(self.allocation, site), methods=["GET"]
        )
        return blueprint

    def reports(self, site: Site) -> Response:
        """Takes a report."""
        open_site(self.keys, site)
        body = read_json(wire.ReportBody, limits=LIMITS, body_bytes=wire.REPORT_BYTES_MAX)
        now = self.clock()
        report = self.reader.read(body, site)
        with bound(commandId=str(report.report_id)):
            try:
                answers = self.report_resources(report, now)
            except ObservedInFuture as error:
                raise Problem(
                    OBSERVED_IN_FUTURE, f"{error}; at most 5 s are accepted: set the host's clock"
                ) from None
            told = Counter([answer.outcome for answer in answers])
            counts = {outcome.value: number for outcome, number in told.items()}
            event(_LOG, "report", site=site, resources=len(answers), outcomes=counts)
        self.metrics.count(site, counts, now - report.observed_at)
        return answer(
            wire.outcomes_body(
                report.report_id,
                now,
                [resource.resource_id for resource in report.resources],
                report.allocation_ids,
                answers,
            )
        )

    def allocation(self, site: Site, allocation: str) -> Response:
        """Answers one allocation of the Site."""
        open_site(self.keys, site)
        canonical = canonical_uuid(allocation)
        saved = self.read_allocation(site, AllocationId(UUID(canonical))) if canonical else None
        if saved is None:
            raise Problem(NOT_FOUND, "no such allocation at this Site")
        return answer(wire.allocation_body(saved))


def open_site(keys: IntakeKeys, site: Site) -> None:
    """Credential, schema range and an empty query, in the wire's order."""
    keys.admit(site)
    read_query()
