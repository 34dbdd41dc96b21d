"""`GET /api/v1/projects/{projectId}/allocations` (P38, P39): no provider binding and no native name in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from flask import Blueprint, Response
from msgspec import Struct

from central.kernel.http import answer, read_query
from central.kernel.problems import FORBIDDEN, Problem
from central.kernel.times import format_rfc3339
from central.provisioning.application.project_allocations import ProjectAllocations, ViewRefused
from central.provisioning.domain.allocation import Lifecycle, Reason, Saved
from central.provisioning.domain.amounts import by_component
from central.provisioning.domain.ids import parse_uuid
from central.provisioning.entrypoints.wire import SCHEMA, AmountsBody, Schema


class ProjectAllocationBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One allocation. `observed_at` is when the Site last saw it, changed or not (P9)."""

    allocation_id: UUID
    site: str
    revision: int
    lifecycle: Lifecycle
    reasons: Sequence[Reason]
    configured: AmountsBody | None
    applied: AmountsBody | None
    used: AmountsBody | None
    observed_at: str


class ProjectAllocationsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """All of them."""

    schema: Schema
    project_id: UUID
    allocations: list[ProjectAllocationBody]


@dataclass(frozen=True, slots=True)
class ProjectAllocationRoutes:
    """The route. `member` names the Party who asks, or raises the 401."""

    member: Callable[[], UUID]
    allocations: ProjectAllocations

    def blueprint(self) -> Blueprint:
        """The route, ready to be mounted."""
        blueprint = Blueprint("project_allocations", __name__, url_prefix="/api/v1/projects")
        blueprint.add_url_rule("/<string:project>/allocations", view_func=self.list, methods=["GET"])
        return blueprint

    def list(self, project: str) -> Response:
        """Lists the Project's allocations."""
        member, project_id = self.member(), parse_uuid(project)
        read_query()
        if project_id is None:
            raise Problem(FORBIDDEN, "no Project of yours has this id")
        try:
            found = self.allocations(project_id, member)
        except ViewRefused:
            raise Problem(FORBIDDEN, "Beto does not allow you project.view here") from None
        return answer(project_allocations_body(project_id, found))


def project_allocations_body(project: UUID, found: Sequence[Saved]) -> ProjectAllocationsBody:
    """The Project's allocations as its members see them."""
    schema: Literal[1] = SCHEMA
    return ProjectAllocationsBody(schema, project, [_body(saved) for saved in found])


def _body(saved: Saved) -> ProjectAllocationBody:
    allocation, facts = saved.allocation, saved.allocation.facts
    return ProjectAllocationBody(
        allocation_id=allocation.allocation_id,
        site=allocation.site,
        revision=allocation.revision,
        lifecycle=allocation.lifecycle,
        reasons=allocation.reasons,
        configured=by_component(facts.configured),
        applied=by_component(facts.applied),
        used=by_component(allocation.used),
        observed_at=format_rfc3339(saved.last_seen),
    )
