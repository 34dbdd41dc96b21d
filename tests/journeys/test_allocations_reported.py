"""An allocation from order to tombstone, as Waldur and Slurm have it and the platform tells it (P1–P12,
S8): each step is the provider's or an administrator's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.journeys.reporting import Allocation, Reporting

pytestmark = pytest.mark.lab

LIST = "GET /api/marketplace-provider-resources/"


@pytest.fixture(scope="module")
def sold(site: Reporting) -> Allocation:
    """Ordered, and not yet made: no Slurm account is named."""
    return site.sell("proj_life", state="Creating", backend_id="")


@pytest.fixture(scope="module")
def other(site: Reporting, sold: Allocation) -> Allocation:
    """Another allocation of the same Project, sold later; ready."""
    site.account("proj_life_b")
    return site.sell("proj_life_b", (sold.ref, sold.project))


def moved(site: Reporting, sold: Allocation, change: Callable[[], object], **wanted: Any) -> dict[str, Any]:
    """The allocation with these values after ``change``, which is one material change (P5)."""
    before = site.allocation(sold)["revision"]
    change()
    shown = site.wait_allocation(sold, **wanted)
    assert shown["revision"] == before + 1
    return shown


def test_p4_ordered_is_pending_and_has_no_limits(site: Reporting, sold: Allocation) -> None:
    shown = site.wait_allocation(sold, lifecycle="pending", reasons=["provisioning", "limits_not_applied"])
    assert (shown["nativeName"], shown["applied"], shown["revision"]) == (None, None, 1)


def test_p4_made_at_waldur_and_not_in_slurm_waits_for_its_limits(site: Reporting, sold: Allocation) -> None:
    made = partial(site.resell, sold, state="OK", backend_id=sold.account)
    shown = moved(site, sold, made, lifecycle="pending", reasons=["limits_not_applied"])
    assert (shown["nativeName"], shown["applied"]) == (sold.account, {}), "nothing is applied, which is known"


def test_p4_the_account_in_slurm_makes_it_ready(site: Reporting, sold: Allocation) -> None:
    shown = moved(site, sold, partial(site.account, sold.account), lifecycle="ready", reasons=[])
    assert shown["applied"] == shown["configured"] and shown["fresh"]


def test_p4_lower_limits_in_slurm_are_changing_with_what_is_in_force(
    site: Reporting, sold: Allocation
) -> None:
    limit = partial(site.slurm, "modify", "account", sold.account, "set")
    lower = partial(limit, "GrpTRES=cpu=8,gres/gpu:gh200=1")
    shown = moved(site, sold, lower, lifecycle="changing", reasons=["limits_not_applied"])
    assert shown["applied"] == shown["configured"] | {"cpu": 8000, "gpu.gh200": 1}
    assert shown["used"] == {"cpu": 0, "gpu.gh200": 0}, "what Slurm counts against a limit, and no more"
    assert "changing" in site.explained("allocation", sold.id)
    moved(site, sold, partial(limit, "GrpTRES=cpu=-1,gres/gpu:gh200=-1"), lifecycle="ready", reasons=[])


def test_p4_paused_at_waldur_is_suspended_until_it_is_not(site: Reporting, sold: Allocation) -> None:
    moved(site, sold, partial(site.resell, sold, paused=True), lifecycle="suspended")
    moved(site, sold, partial(site.resell, sold, paused=False), lifecycle="ready")


def test_s8_x1_a_state_nobody_knows_costs_that_row_alone(
    site: Reporting, sold: Allocation, other: Allocation
) -> None:
    """It ages, and the others are renewed; back again, nothing has changed."""
    site.wait_allocation(other, lifecycle="ready")
    last = len(site.waldur("rows", table="resources")) - 1
    site.marketplace.process.fault("row", call=LIST, times=None, index=last, set={"state": "Frozen"})
    try:
        status = site.wait_status(
            lambda status: status["checks"]["allocations"]["code"] == "row_unreadable",
            "a row that is unreadable",
        )
        assert status["state"] == "ready" and other.resource in status["checks"]["allocations"]["found"]
        before = {one.id: site.allocation(one) for one in (sold, other)}
        site.wait_pass()
        after = {one.id: site.allocation(one) for one in (sold, other)}
    finally:
        site.marketplace.process.clear()
    assert after[sold.id]["lastSeenAt"] > before[sold.id]["lastSeenAt"]
    assert after[other.id]["lastSeenAt"] == before[other.id]["lastSeenAt"], (
        "renewed by a row nobody could read"
    )
    assert after[other.id]["lifecycle"] == "ready"
    site.wait_status(lambda status: status["checks"]["allocations"]["status"] == "pass", "every row readable")
    site.wait_pass()
    shown = site.allocation(other)
    assert (shown["revision"], shown["fresh"]) == (after[other.id]["revision"], True)


def test_p4_terminated_is_retired_and_stays_whatever_is_told_later(site: Reporting, sold: Allocation) -> None:
    retired = moved(site, sold, partial(site.resell, sold, state="Terminated"), lifecycle="retired")
    site.resell(sold, state="OK")
    site.wait_pass()
    again = site.allocation(sold)
    assert (again["lifecycle"], again["revision"]) == ("retired", retired["revision"])


def test_p34_a_resource_that_is_no_longer_listed_is_not_inferred_terminated(
    site: Reporting, other: Allocation
) -> None:
    before = site.wait_allocation(other, lifecycle="ready")
    site.waldur("remove", table="resources", uuid=other.resource)
    site.wait_pass()
    site.wait_pass()
    after = site.allocation(other)
    assert (after["lifecycle"], after["revision"]) == ("ready", before["revision"])
    assert before["lastSeenAt"] <= after["lastSeenAt"] < site.status()["lastObservedAt"], "it ages"
