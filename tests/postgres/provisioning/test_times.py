"""Times no Site observed anything at, and forms that are no time, at both doors of the intake (X2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.goldens import canonical
from tests.postgres.provisioning.conftest import Agent, report_body, resource, told

NOW = "2026-11-02T10:00:01Z"
BEFORE_2020 = [
    "1970-01-01T00:00:00Z",
    "2019-12-31T23:59:59.999999Z",
    "2020-01-01T00:00:00+00:01",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
]
NO_TIMES = [
    "2026-11-02T10:00:01", "20261102T100001Z", "2026-W45-1T00:00Z", "2026-11-02", "2026-11-02T10:00:60Z",
    "2026-11-02T10:00:01.1234567Z", "infinity", "-infinity", "today", "2026-11-02T24:00:00Z",
    "2026-11-02T10:00:01Z\n", "",
]  # fmt: skip


def accounts_body(allocation: str, observed_at: str) -> dict[str, Any]:
    """A complete, empty set."""
    return {
        "schema": 1,
        "reportId": "00000000-0000-4000-8000-000000000502",
        "observedAt": observed_at,
        "allocationId": allocation,
        "accounts": [],
    }


def refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["code"]


@pytest.mark.parametrize("time", BEFORE_2020)
def test_x2_no_report_was_observed_before_2020(agent: Agent, time: str) -> None:
    """Nothing of it is saved: the first true report is the first there is."""
    answer = agent.post(report_body(time, resource()))
    assert refused(answer) == (400, "time_invalid") and "/observedAt" in answer.get_json()["detail"]
    assert told(agent.report(NOW, resource())) == [("changed", 1)]


def test_x2_hours_old_reports_are_retries_and_2020_is_a_time(agent: Agent) -> None:
    assert told(agent.report("2020-01-01T00:00:00Z", resource())) == [("changed", 1)]
    assert told(agent.report("2026-11-02T03:00:00Z", resource())) == [("seen", 1)]


@pytest.mark.parametrize("time", BEFORE_2020 + NO_TIMES)
def test_e09_e11_e12_f12_no_set_of_accounts_was_observed_then(agent: Agent, time: str) -> None:
    """The set is refused whole, and the true one after it is the first."""
    allocation = agent.report(NOW, resource())[0]["allocationId"]
    client, path = agent.app.test_client(), "/resource-provisioning/slurm/accounts"
    answer = client.post(path, data=canonical(accounts_body(allocation, time)), headers=agent.headers())
    assert refused(answer) == (400, "time_invalid")
    answer = client.post(path, data=canonical(accounts_body(allocation, NOW)), headers=agent.headers())
    assert (answer.status_code, answer.get_json()["outcome"]) == (200, "recorded")
