"""Reports over HTTP into PostgreSQL: what each is told and what stands afterwards (P4–P6, P9, P12)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from central.kernel.database import Database
from central.kernel.queries import Query
from central.kernel.site_names import Site
from tests.postgres.provisioning.conftest import (
    KEYS,
    LIMITS,
    PROJECT,
    PROJECT_REF,
    Agent,
    Clock,
    Projects,
    report_body,
    resource,
    told,
)

T1, T2, T3, T4 = (f"2026-11-02T10:00:{second:02}Z" for second in (1, 2, 3, 4))
REPORT = UUID("00000000-0000-4000-8000-000000000501")


@dataclass(frozen=True, slots=True)
class Kept:
    """How many rows."""

    n: int


def test_first_report_then_seen_then_usage_then_limits(agent: Agent) -> None:
    first = agent.report(T1, resource())
    assert told(first) == [("changed", 1)]
    assert told(agent.report(T2, resource())) == [("seen", 1)]
    assert told(agent.report(T3, resource(used={"cpu": 1}))) == [("changed", 1)]
    assert told(agent.report(T4, resource(used={"cpu": 1}, configured={"cpu": 1}))) == [("changed", 2)]
    shown = agent.allocation(first[0]["allocationId"]).get_json()
    assert (shown["lifecycle"], shown["reasons"]) == ("changing", ["limits_not_applied"])
    assert (shown["applied"], shown["configured"], shown["revision"]) == (LIMITS, {"cpu": 1}, 2)
    assert (shown["observedAt"], shown["lastSeenAt"]) == (T4, T4)


def test_last_seen_is_the_later_of_observation_and_sighting(agent: Agent) -> None:
    allocation = agent.report(T1, resource())[0]["allocationId"]
    agent.report(T3, resource())
    shown = agent.allocation(allocation).get_json()
    assert (shown["observedAt"], shown["lastSeenAt"]) == (T1, T3)
    assert told(agent.report(T2, resource(paused=True))) == [("stale_report", 1)]


def test_equal_time(agent: Agent) -> None:
    agent.report(T1, resource())
    assert told(agent.report(T1, resource())) == [("unchanged", 1)]
    assert told(agent.report(T1, resource(paused=True))) == [("conflicting_report", 1)]
    assert told(agent.report("2026-11-02T11:00:01+01:00", resource())) == [("unchanged", 1)]


def test_one_bad_resource_never_loses_the_others(agent: Agent) -> None:
    agent.report(T1, resource(1), resource(2), resource(3))
    other = Agent(agent.app, "k8s", KEYS[Site("k8s")][0])
    outcomes = other.report(T2, resource(1), resource(9))
    assert told(outcomes) == [("refused", None), ("changed", 1)]
    assert outcomes[0]["code"] == "other_site"
    moved = resource(2, offeringId="00000000-0000-4000-8000-0000000003ff")
    outcomes = agent.report(T2, resource(1), moved, resource(3, paused=True))
    assert told(outcomes) == [("seen", 1), ("refused", 1), ("changed", 2)]
    assert outcomes[1]["code"] == "binding_changed"


def test_the_same_report_again_gives_the_same_outcomes(agent: Agent, clock: Clock) -> None:
    agent.report(T1, resource(1), resource(2))
    body = report_body(T2, resource(1), resource(2, paused=True), report_id=REPORT)
    first = agent.post(body)
    assert told(first.get_json()["outcomes"]) == [("seen", 1), ("changed", 2)]
    agent.report(T3, resource(1, paused=True), resource(2))
    assert agent.post(body).data == first.data
    reused = agent.post(report_body(T2, resource(1, paused=True), report_id=REPORT))
    assert (reused.status_code, reused.get_json()["code"]) == (409, "command_reused")


def test_changes_are_remembered_after_their_report_is_forgotten(
    agent: Agent, clock: Clock, admin: Database
) -> None:
    agent.report(T1, resource(1), resource(2), resource(3))
    body = report_body(T2, resource(1), resource(2, paused=True), resource(3, paused=True), report_id=REPORT)
    first = told(agent.post(body).get_json()["outcomes"])
    assert first == [("seen", 1), ("changed", 2), ("changed", 2)]
    agent.report(T3, resource(3))
    clock.now += timedelta(days=8)
    agent.report("2026-11-10T10:00:00Z", resource(1))
    kept = admin.run(
        lambda tx: tx.one(Kept, Query("kept", b"SELECT count(*) AS n FROM provisioning.reports"))
    )
    assert kept.n == 1
    again = told(agent.post(body).get_json()["outcomes"])
    assert again == [("stale_report", 1), ("changed", 2), ("changed", 2)]
    other = report_body(T2, resource(2, used=None), report_id=REPORT)
    reused = agent.post(other)
    assert (reused.status_code, reused.get_json()["code"]) == (409, "command_reused")


def test_a_project_that_resolves_late(agent: Agent, projects: Projects) -> None:
    projects.known.clear()
    allocation = agent.report(T1, resource())[0]["allocationId"]
    shown = agent.allocation(allocation).get_json()
    assert (shown["lifecycle"], shown["reasons"], shown["projectId"]) == (
        "pending",
        ["project_unbound"],
        None,
    )
    assert told(agent.report(T2, resource())) == [("seen", 1)]
    projects.known[PROJECT_REF] = PROJECT
    assert told(agent.report(T3, resource())) == [("changed", 2)]
    projects.known.clear()
    assert told(agent.report(T4, resource())) == [("seen", 2)]
    shown = agent.allocation(allocation).get_json()
    assert (shown["lifecycle"], shown["projectId"], shown["lastSeenAt"]) == ("ready", str(PROJECT), T4)


def test_retired_is_final(agent: Agent) -> None:
    allocation = agent.report(T1, resource())[0]["allocationId"]
    gone = resource(state="terminated", applied=None, used=None)
    assert told(agent.report(T2, gone)) == [("changed", 2)]
    assert told(agent.report(T3, gone)) == [("unchanged", 2)]
    assert told(agent.report(T4, resource())) == [("unchanged", 2)]
    shown = agent.allocation(allocation).get_json()
    assert (shown["lifecycle"], shown["applied"], shown["lastSeenAt"]) == ("retired", None, T2)
