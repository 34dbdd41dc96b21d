"""The event of a changed allocation is the golden's bytes (P10, X10)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from central.kernel.site_names import Site
from central.kernel.times import parse_rfc3339
from central.provisioning.adapters.events import encode_changed
from central.provisioning.domain.allocation import Allocation, Facts, Lifecycle, Reason
from central.provisioning.domain.amounts import Amounts
from central.provisioning.domain.ids import AllocationId, WaldurInstance
from central.provisioning.domain.observation import ProviderProjectRef, ProviderState
from tests.contract.goldens import Valid, load


def amounts(given: dict[str, int] | None) -> Amounts | None:
    return None if given is None else Amounts.of(given)


def allocation(data: dict[str, Any]) -> Allocation:
    """An allocation of which the event tells just this; its usage must not be told."""
    return Allocation(
        allocation_id=AllocationId(UUID(data["allocationId"])),
        site=Site(data["site"]),
        instance=WaldurInstance("https://waldur.example.org/"),
        resource_id=UUID(int=1),
        offering_id=UUID(int=2),
        facts=Facts(
            project_id=UUID(data["projectId"]) if data["projectId"] else None,
            provider_project_ref=ProviderProjectRef("p"),
            native_name="p1",
            state=ProviderState.OK,
            paused=False,
            configured=amounts(data["configured"]),
            applied=amounts(data["applied"]),
        ),
        lifecycle=Lifecycle(data["lifecycle"]),
        reasons=tuple(Reason(reason) for reason in data["reasons"]),
        used=Amounts.of({"cpu": 1}),
        revision=data["revision"],
        observed_at=parse_rfc3339(data["observedAt"]),
    )


@pytest.mark.parametrize("case", load("allocation-changed").valid, ids=lambda case: case.name)
def test_the_event_is_the_goldens_bytes(case: Valid) -> None:
    body = case.body
    encoded = encode_changed(
        allocation(body["data"]), UUID(body["messageId"]), parse_rfc3339(body["occurredAt"])
    )
    assert encoded == case.canonical
