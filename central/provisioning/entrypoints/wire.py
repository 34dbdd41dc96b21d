"""Bodies of docs/wire.md "Site intake" about allocations, schema 1, fields in the wire's order (X4, X10)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct

from central.kernel.times import format_rfc3339
from central.provisioning.application.report import Answered
from central.provisioning.domain.allocation import Lifecycle, Reason, Saved
from central.provisioning.domain.amounts import by_component
from central.provisioning.domain.decision import Outcome, RefusalCode
from central.provisioning.domain.observation import ProviderState

SCHEMA: Final = 1
RESOURCES_MAX: Final = 1_000
REPORT_BYTES_MAX: Final = 1_048_576

Schema = Literal[1]
AmountsBody = dict[str, Annotated[int, Meta(ge=0, le=2**63 - 1)]]


class ResourceBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One resource of a report. Texts are checked by `entrypoints.reports`, each distinct one once."""

    resource_id: str
    offering_id: str
    provider_project_ref: str
    native_name: str | None
    state: ProviderState
    paused: bool
    configured: AmountsBody | None
    applied: AmountsBody | None
    used: AmountsBody | None


class ReportBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST /resource-provisioning/<site>/reports`."""

    schema: Schema
    report_id: str
    observed_at: str
    resources: list[ResourceBody]


class OutcomeBody(Struct, frozen=True, gc=False, rename="camel"):
    """What a report was told about one resource."""

    resource_id: str
    allocation_id: str
    outcome: Outcome
    revision: int | None
    code: RefusalCode | None


class OutcomesBody(Struct, frozen=True, gc=False, rename="camel"):
    """The answer to a report, one outcome a resource, in order."""

    schema: Schema
    report_id: str
    received_at: str
    outcomes: list[OutcomeBody]


class AllocationBody(Struct, frozen=True, gc=False, rename="camel"):
    """`GET /resource-provisioning/<site>/allocations/{allocationId}`."""

    schema: Schema
    allocation_id: UUID
    site: str
    resource_id: UUID
    project_id: UUID | None
    revision: int
    lifecycle: Lifecycle
    reasons: Sequence[Reason]
    state: ProviderState
    paused: bool
    configured: dict[str, int] | None
    applied: dict[str, int] | None
    used: dict[str, int] | None
    observed_at: str
    last_seen_at: str


def outcomes_body(
    report_id: UUID,
    received_at: datetime,
    resource_ids: Sequence[str],
    allocation_ids: Sequence[str],
    answers: Sequence[Answered],
) -> OutcomesBody:
    """The answer to a report."""
    return OutcomesBody(
        schema=SCHEMA,
        report_id=str(report_id),
        received_at=format_rfc3339(received_at),
        outcomes=[
            OutcomeBody(resource, allocation, answer.outcome, answer.revision, answer.code)
            for resource, allocation, answer in zip(resource_ids, allocation_ids, answers, strict=True)
        ],
    )


def allocation_body(saved: Saved) -> AllocationBody:
    """An allocation as its Site sees it."""
    allocation, facts = saved.allocation, saved.allocation.facts
    return AllocationBody(
        schema=SCHEMA,
        allocation_id=allocation.allocation_id,
        site=allocation.site,
        resource_id=allocation.resource_id,
        project_id=facts.project_id,
        revision=allocation.revision,
        lifecycle=allocation.lifecycle,
        reasons=allocation.reasons,
        state=facts.state,
        paused=facts.paused,
        configured=by_component(facts.configured),
        applied=by_component(facts.applied),
        used=by_component(allocation.used),
        observed_at=format_rfc3339(allocation.observed_at),
        last_seen_at=format_rfc3339(saved.last_seen),
    )
