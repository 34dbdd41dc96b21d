"""Retry, cleanup, results and reasons to wait over the wire (E1, E4, E7, P28, S2, X7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from central.execution.domain.planning import Lifecycle
from central.execution.domain.run import WaitReason
from tests.contract.goldens import Golden, Refused, load
from tests.contract.run_world import ALLOCATION, OTHER, PARTY, READY, World

STATED = {"another_project", "unsettled", "completed", "not_refused", "over"}
"""Refusals that need a Run in a certain state: each has its own test below."""


@pytest.fixture
def world() -> World:
    return World()


def failed(world: World) -> str:
    """A Run whose stage-in failed, cleaned up."""
    _, run = world.create()
    world.do(verdict="failed")
    world.do()
    return str(run["runId"])


def refused() -> Iterator[Any]:
    for name in ("run-retry", "run-cleanup"):
        for case in load(name).refused:
            if case.name not in STATED:
                yield pytest.param(load(name), case, id=f"{name}-{case.name}")


@pytest.mark.parametrize(("golden", "case"), list(refused()))
def test_a_refused_body_gets_its_code_and_changes_nothing(
    golden: Golden, case: Refused, world: World
) -> None:
    run = failed(world)
    path = case.request["path"].replace("00000000-0000-4000-8000-000000000201", run)
    before = dict(world.runs.runs)
    status, problem = world.send({**case.request, "path": path}, case.raw)
    assert (status, problem["code"]) == (case.status, case.code)
    assert world.runs.runs == before


def test_e1_a_retry_is_attempt_2_with_its_actor_and_commands_of_its_own(world: World) -> None:
    run = failed(world)
    [first] = {each["attemptId"] for each in world.listed()}
    status, again = world.ask("POST", run, "/retry", who="$OTHER")
    assert (status, again["state"], again["createdBy"]) == (202, "running", str(PARTY))
    assert [(each["number"], each["askedBy"]) for each in again["attempts"]] == [(1, None), (2, str(OTHER))]
    assert list(again) == list(load("run").valid[0].body)
    command = world.listed()[-1]
    assert (command["attempt"], command["action"]["stage"]) == (2, "stage-in")
    assert command["attemptId"] == again["attempts"][1]["attemptId"] != first
    assert [each["attempt"] for each in world.listed()] == [1, 1, 2]
    assert world.listed()[0]["validUntil"] == world.listed()[0]["issuedAt"], "nothing of attempt 1 is begun"
    assert command["identity"] == world.listed()[0]["identity"]


def test_x7_a_retry_said_twice_is_one(world: World) -> None:
    run = failed(world)
    first, second = world.ask("POST", run, "/retry"), world.ask("POST", run, "/retry")
    assert first == second
    status, problem = world.ask("POST", run, "/retry", key=61)
    assert (status, problem["code"]) == (409, "attempt_unsettled")


def test_x7_a_word_about_attempt_1_said_again_is_unchanged(world: World) -> None:
    run = failed(world)
    submit, cleanup = world.listed()
    world.ask("POST", run, "/retry")
    before = dict(world.runs.runs)
    for command, golden, changes in (
        (submit, "command-ack", {"ackId": str(UUID(int=77))}),
        (submit, "command-result", {"resultId": str(UUID(int=77)), "verdict": "failed", "exitCode": None,
                                    "output": None}),
        (cleanup, "command-result", {"resultId": str(UUID(int=77)), "output": None}),
    ):  # fmt: skip
        status, receipt = world.say(golden, command["commandId"], command["attemptId"], **changes)
        assert (status, receipt.get("outcome")) == (200, "unchanged"), receipt
    assert world.runs.runs == before
    latest = world.listed()[-1]
    mixed = world.say("command-ack", latest["commandId"], submit["attemptId"])
    assert (mixed[0], mixed[1]["code"]) == (409, "attempt_mismatch")


def test_e7_a_retry_is_refused_until_the_attempt_is_settled(world: World) -> None:
    _, run = world.create()
    for verdict in ("failed", None):
        status, problem = world.ask("POST", run["runId"], "/retry")
        assert (status, problem["code"]) == (409, "attempt_unsettled")
        if verdict:
            world.do(verdict=verdict)
    world.do()
    assert world.ask("POST", run["runId"], "/retry")[0] == 202


def test_e7_a_completed_run_is_not_tried_again(world: World) -> None:
    _, run = world.create()
    for _ in range(4):
        world.do()
    status, problem = world.ask("POST", run["runId"], "/retry")
    assert (status, problem["code"]) == (409, "run_completed")
    status, problem = world.ask("POST", run["runId"], "/cleanup")
    assert (status, problem["code"]) == (409, "cleanup_settled")


@pytest.mark.parametrize(
    ("others", "status", "code"),
    [
        ({"changed": True}, 409, "account_changed"),
        ({"management": 2}, 409, "account_changed"),
        ({"open": False}, 409, "site_not_qualified"),
        ({"resources_of": {"slurm": []}}, 422, "allocation_unknown"),
        ({"resources_of": {"slurm": [replace(READY, allocation_id=UUID(int=9))]}}, 422, "allocation_unknown"),
        (
            {"resources_of": {"slurm": [replace(READY, lifecycle=Lifecycle.SUSPENDED)]}},
            409,
            "resource_suspended",
        ),
        ({"resources_of": {"slurm": [replace(READY, applied={"cpu": 1})]}}, 422, "limits_exceeded"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_e1_a_retry_is_planned_again_for_the_saved_account_alone(
    others: dict[str, Any], status: int, code: str, world: World
) -> None:
    run = failed(world)
    for name, value in others.items():
        setattr(world.others, name, value)
    answered, problem = world.ask("POST", run, "/retry")
    assert (answered, problem["code"]) == (status, code)
    assert len(world.runs.runs[UUID(run)].attempts) == 1


def test_e1_a_retry_takes_the_runs_own_allocation_where_there_are_several(world: World) -> None:
    run = failed(world)
    world.others.resources_of = {"slurm": [READY, replace(READY, allocation_id=UUID(int=9))]}
    status, again = world.ask("POST", run, "/retry")
    assert (status, again["allocationId"]) == (202, str(ALLOCATION))


def test_p28_a_refused_cleanup_is_shown_and_asked_for_again_by_a_member(world: World) -> None:
    _, run = world.create()
    world.do(verdict="failed")
    status, problem = world.ask("POST", run["runId"], "/cleanup")
    assert (status, problem["code"]) == (409, "cleanup_not_refused")
    world.do(accepted=False, code="scratch_unavailable")
    shown = world.ask("GET", run["runId"])[1]
    assert shown["cleanup"] == {"state": "refused", "reason": "scratch_unavailable"}
    status, asked = world.ask("POST", run["runId"], "/cleanup", who="$OTHER")
    assert (status, asked["cleanup"]) == (202, {"state": "asked", "reason": None})
    assert [each["action"]["act"] for each in world.listed()] == ["submit", "cleanup", "cleanup"]
    kept = world.runs.runs[UUID(run["runId"])].cleanup
    assert kept is not None
    assert kept.actor == OTHER
    world.do()
    assert world.ask("GET", run["runId"])[1]["cleanup"] == {"state": "done", "reason": None}


@pytest.mark.parametrize("reason", [WaitReason.REPOSITORY_UNKNOWN, WaitReason.REPOSITORY_REFUSED])
def test_s2_a_repository_that_is_refused_is_told_to_the_member_with_a_remedy(
    reason: WaitReason, world: World
) -> None:
    _, run = world.create()
    [command] = world.listed()
    world.others.repository = reason
    for _ in range(2):
        status, problem = world.say("member-token-request", command["commandId"], command["attemptId"])
        assert (status, problem["code"]) == (503, "unavailable")
    shown = world.ask("GET", run["runId"])[1]
    assert (shown["state"], shown["reason"]) == ("waiting", reason.value)
    assert "Git host" in shown["waiting"]["what"]
    assert shown["waiting"]["remedy"]
    world.others.repository = None
    assert world.say("member-token-request", command["commandId"], command["attemptId"])[0] == 200
    shown = world.ask("GET", run["runId"])[1]
    assert (shown["state"], shown["reason"], shown["waiting"]) == ("running", None, None)


def test_e7_results_are_of_every_attempt(world: World) -> None:
    run = failed(world)
    world.ask("POST", run, "/retry")
    world.do()
    status, results = world.ask("GET", run, "/results")
    assert status == 200
    assert list(results) == list(load("run-results").valid[0].body)
    assert [[each["verdict"] for each in attempt["stages"]] for attempt in results["attempts"]] == [
        ["failed"],
        ["completed"],
    ]
    usage = results["attempts"][0]["stages"][0]["usage"]
    assert usage == load("command-result").valid[0].body["usage"]


@pytest.mark.parametrize("what", ["/retry", "/cleanup", "/results", ""])
def test_e4_a_run_that_is_not_there_is_unknown(what: str, world: World) -> None:
    failed(world)
    method = "POST" if what in ("/retry", "/cleanup") else "GET"
    for run in (str(UUID(int=993)), "no-uuid"):
        status, problem = world.ask(method, run, what)
        assert (status, problem["code"]) == (404, "run_unknown")
