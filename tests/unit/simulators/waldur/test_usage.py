"""Usage in the simulated Waldur: the ten rules in their order (W23, W39, W40, W43)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.simulators.waldur.staging import NODE
from tests.unit.simulators.waldur.world import Site

CPU = {"type": "cpu", "name": "CPU-hours", "measured_unit": "h", "billing_type": "usage"}
FIXED = {"type": "seat", "name": "Seats", "measured_unit": "1", "billing_type": "fixed"}
TODAY = "2026-11-01T00:00:00Z"
LAST_MONTH = "2026-10-01T00:00:00Z"


@pytest.fixture
def site() -> Site:
    """With a limit-billed, a usage-billed and a fixed component."""
    made = Site()
    made.offering = made.stage.add_offering(made.made["provider"], "Three", components=[NODE, CPU, FIXED])
    made.resource = made.stage.add_resource(made.offering, made.project, "three", limits={"node": 100})
    made.stage.add_role(_user(made, "offering_manager"), "OFFERING.MANAGER", "offering", made.offering)
    return made


def _user(site: Site, who: str) -> str:
    return site.world.tokens[site.made[who]].user


def amounts(site: Site) -> dict[tuple[str, str], str]:
    rows = site.get(f"marketplace-component-usages/?resource_uuid={site.resource}")
    return {(row["type"], row["billing_period"]): row["usage"] for row in rows}


def test_1_a_resource_or_a_plan_period_is_named(site: Site) -> None:
    body = {"usages": [{"type": "node", "amount": "1"}]}
    answer = site.call("POST", "marketplace-component-usages/set_usage/", body)
    assert (answer.status, list(answer.body)) == (400, ["non_field_errors"])
    body["plan_period"] = site.world.resources[site.resource].plan_period  # type: ignore[assignment]
    assert site.call("POST", "marketplace-component-usages/set_usage/", body).status == 201


@pytest.mark.parametrize("state", ["Erred", "Creating", "Terminated"])
def test_2_state_before_components(site: Site, state: str) -> None:
    site.stage.change("resources", site.resource, {"state": state})
    answer = site.report(("unknown", "1"))
    assert answer.body == {"resource": ["Resource is not in valid state."]}


@pytest.mark.parametrize("kind", ["unknown", "seat"])
def test_3_components_are_named_in_the_refusal(site: Site, kind: str) -> None:
    answer = site.report((kind, "1"), date="2031-01-01T00:00:00Z")
    assert answer.status == 400
    assert kind in answer.body["non_field_errors"][0]


@pytest.mark.parametrize("who", ["owner", "staff"])
def test_4_no_future(site: Site, who: str) -> None:
    answer = site.report(("node", "1"), date="2026-11-15T12:00:01Z", who=who)
    assert "future dates" in str(answer.body)
    assert site.report(("node", "1"), date="2026-11-15T12:00:00Z", who=who).status == 201


def test_w23_5_an_offering_manager_may_not_date(site: Site) -> None:
    """400, not 403; undated it may report."""
    answer = site.report(("node", "1"), date=TODAY, who="offering_manager")
    assert (answer.status, "backfilling" in str(answer.body)) == (400, True)
    assert site.report(("node", "1"), who="offering_manager").status == 201


def test_6_a_usage_billed_component_spoils_a_past_month(site: Site) -> None:
    for who, status in (("owner", 400), ("manager", 400), ("staff", 201)):
        assert site.report(("node", "1"), ("cpu", "1"), date=LAST_MONTH, who=who).status == status
    assert site.report(("node", "2"), date=LAST_MONTH).status == 201
    assert site.report(("node", "1"), ("cpu", "1"), date=TODAY).status == 201


def test_7_no_permission(site: Site) -> None:
    token = site.stage.issue_token(site.world.tokens[site.made["owner"]].user, "pat", permissions=[])
    body = {"resource": site.resource, "usages": [{"type": "node", "amount": "1"}]}
    path = "marketplace-component-usages/set_usage/"
    assert site.call("POST", path, body, authorization=f"Bearer {token}").status == 403


def test_8_the_month_is_replaced_and_others_keep(site: Site) -> None:
    assert site.report(("node", "25.5")).status == 201
    assert site.report(("cpu", "3")).status == 201
    assert site.report(("node", "20.25")).status == 201
    assert site.report(("node", "7"), date=LAST_MONTH).status == 201
    assert amounts(site) == {
        ("node", "2026-11-01"): "20.25", ("cpu", "2026-11-01"): "3.00", ("node", "2026-10-01"): "7.00",
    }  # fmt: skip
    shown = site.get(f"marketplace-provider-resources/{site.resource}/")
    assert shown["current_usages"] == {"node": 20.25, "cpu": 3.0}
    assert shown["limit_usage"] == {"node": 27.25}
    past = next(row for row in site.world.usages.values() if row.month.month == 10)
    assert past.plan_period is None


def test_9_a_limit_is_no_barrier_but_may_pause(site: Site) -> None:
    site.stage.change("offerings", site.offering, {"plugin_options": {"action_on_usage_limit": "pause"}})
    assert site.report(("node", "1000")).status == 201
    row = site.get(f"marketplace-provider-resources/{site.resource}/")
    assert (row["paused"], row["usage_limit_restriction"]) == (True, "paused")
    assert site.report(("node", "10")).status == 201
    row = site.get(f"marketplace-provider-resources/{site.resource}/")
    assert (row["paused"], row["usage_limit_restriction"]) == (False, "")


@pytest.mark.parametrize(
    ("amount", "status"),
    [
        ("0.33", 201),
        ("0.333", 400),
        ("1e2", 201),
        ("1" * 20, 201),
        ("1" * 21, 400),
        ("NaN", 400),
        (True, 400),
    ],
)
def test_w39_amounts_have_two_places(site: Site, amount: Any, status: int) -> None:
    answer = site.report(("node", amount))
    assert answer.status == status
    if status == 400:
        assert list(answer.body["usages"][0]) == ["amount"]


def test_month_is_utcs(site: Site) -> None:
    """Half past midnight in Athens on the first is still the last month (W40)."""
    site.now = datetime(2026, 12, 2, tzinfo=UTC)
    assert site.report(("node", "4"), date="2026-12-01T00:30:00+02:00").status == 201
    assert amounts(site) == {("node", "2026-11-01"): "4.00"}


@pytest.mark.parametrize(
    ("period", "sum_"), [("month", 4.0), ("quarterly", 7.0), ("annual", 9.0), ("total", 10.0)]
)
def test_limit_usage_sums_its_current_period(site: Site, period: str, sum_: float) -> None:
    components = site.world.offerings[site.offering].components
    components[0].limit_period = period
    for month, amount in (("2025-12-01", "1"), ("2026-03-01", "2"), ("2026-10-01", "3"), ("2026-11-01", "4")):
        site.stage.add_usage(site.resource, "node", amount, month)
    assert site.get(f"marketplace-provider-resources/{site.resource}/")["limit_usage"] == {"node": sum_}


def users_of(site: Site) -> list[tuple[str, str, str]]:
    path = f"marketplace-component-user-usages/?resource_uuid={site.resource}"
    return sorted((row["username"], row["usage"], row["billing_period"]) for row in site.get(path))


def test_user_usages_are_all_or_none(site: Site) -> None:
    row = site.stage.add_usage(site.resource, "node", "10", "2026-11-01")
    path = f"marketplace-component-usages/{row}/set_user_usages/"
    assert site.call("POST", path, {"usages": []}).status == 400
    mixed = {"usages": [{"username": "a", "usage": "1"}, {"username": "b", "usage": "0.001"}]}
    assert site.call("POST", path, mixed).body == {
        "usages": [{}, {"usage": ["Ensure that there are no more than 2 decimal places."]}]
    }
    assert users_of(site) == []
    site.stage.add_user_usage_limit(site.resource, "node", "b", "5")
    over = {"usages": [{"username": "a", "usage": "1"}, {"username": "b", "usage": "6"}]}
    assert site.call("POST", path, over).body == {"non_field_errors": ["Usage limit exceeded"]}
    assert users_of(site) == []


def test_w43_user_usage_of_another_month_goes_to_that_months_row(site: Site) -> None:
    row = site.stage.add_usage(site.resource, "node", "10", "2026-11-01")
    path = f"marketplace-component-usages/{row}/set_user_usage/"
    for amount in ("1", "2.5"):
        body = {"username": "a", "usage": amount, "date": LAST_MONTH}
        assert site.call("POST", path, body).status == 201
    assert users_of(site) == [("a", "2.50", "2026-10-01")]
    assert site.call("POST", path, {"username": "a", "usage": "1"}, who="consumer").status == 404


def test_duplicates_of_a_month_become_one(site: Site) -> None:
    first = site.stage.add_usage(site.resource, "node", "1", "2026-11-01")
    twin = site.stage.add_usage(site.resource, "node", "2", "2026-10-01")
    site.stage.change("usages", twin, {"month": "2026-11-01"})
    assert site.report(("node", "5")).status == 201
    assert [row.uuid for row in site.world.usages.values()] == [first]
