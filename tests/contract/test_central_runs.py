"""Central speaks docs/wire.md of Runs and commands: byte for byte, refusals by code (E3, E4, X10)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from central.execution.application.ports import AccountAwaits, AccountSeveral
from central.execution.domain.permission import Permission
from central.execution.domain.planning import Lifecycle
from central.execution.entrypoints import command_wire, run_wire
from central.kernel.strict_json import decode, encode
from tests.contract.goldens import Golden, Refused, load
from tests.contract.run_world import (
    CLOCK,
    PARTY,
    PROJECT,
    READY,
    World,
)

BODIES: dict[str, type[msgspec.Struct]] = {
    "run-create": run_wire.RunCreateBody,
    "run-cancel": run_wire.RunCancelBody,
    "run": run_wire.RunBody,
    "run-retry": run_wire.RunPlainBody,
    "run-cleanup": run_wire.RunPlainBody,
    "run-results": run_wire.RunResultsBody,
    "run-list": run_wire.RunListBody,
    "command-ack": command_wire.AckBody,
    "command-result": command_wire.ResultBody,
    "command-receipt": command_wire.ReceiptBody,
    "member-token-request": command_wire.TokenRequestBody,
    "member-token": command_wire.TokenBody,
    "site-commands": command_wire.CommandsBody,
    "site-maintenance": command_wire.MaintenanceBody,
}
"""Central writes each, or reads it; both ways it is the same bytes."""


@pytest.fixture
def world() -> World:
    return World()


def valid_bodies() -> Iterator[Any]:
    for name, kind in BODIES.items():
        for body in load(name).valid:
            yield pytest.param(kind, body.canonical, id=f"{name}-{body.name}")


def refused(name: str) -> Iterator[Any]:
    for case in load(name).refused:
        yield pytest.param(load(name), case, id=case.name)


@pytest.mark.parametrize(("kind", "body"), list(valid_bodies()))
def test_a_valid_body_is_read_and_written_byte_for_byte(kind: type[msgspec.Struct], body: bytes) -> None:
    assert encode(decode(body, kind)) == body


@pytest.mark.parametrize(("golden", "case"), [*refused("run-create"), *refused("run-list-request")])
def test_a_refused_request_of_a_member_gets_its_code(golden: Golden, case: Refused, world: World) -> None:
    body = case.raw if golden.request["method"] == "POST" else None
    status, problem = world.send(case.request, body)
    assert (status, problem["code"]) == (case.status, case.code)
    assert world.runs.runs == {}


@pytest.mark.parametrize(("golden", "case"), list(refused("site-commands-request")))
def test_a_refused_poll_gets_its_code(golden: Golden, case: Refused, world: World) -> None:
    status, problem = world.send(case.request)
    assert (status, problem["code"]) == (case.status, case.code)


@pytest.mark.parametrize(("golden", "case"), list(refused("site-maintenance")))
def test_s15_a_refused_statement_gets_its_code(golden: Golden, case: Refused, world: World) -> None:
    status, problem = world.send(case.request, case.raw)
    assert (status, problem["code"]) == (case.status, case.code)
    assert world.others.statements == {}


def test_s15_a_run_at_a_site_in_maintenance_is_accepted_and_waits(world: World) -> None:
    golden = load("site-maintenance")
    for case in golden.valid:
        assert world.send(golden.request, case.canonical) == (204, None)
    world.send(golden.request, golden.valid[0].canonical)
    status, run = world.create()
    assert (status, run["state"], run["reason"]) == (201, "waiting", "site_maintenance")
    assert world.listed() == []


STATED = {"already_ended", "another_project", "command_unknown", "not_acknowledged", "acknowledged",
          "of_another_site", "consent_expired", "no_authority", "another_attempt"}  # fmt: skip
"""Refusals that need a Run in a certain state: each has its own test below."""


@pytest.mark.parametrize(
    ("golden", "case"),
    [
        each
        for name in ("run-cancel", "command-ack", "command-result", "member-token-request")
        for each in refused(name)
        if each.values[1].name not in STATED
    ],
)
def test_a_refused_word_about_a_run_gets_its_code(golden: Golden, case: Refused, world: World) -> None:
    _, run = world.create()
    [command] = world.listed()
    path = case.request["path"].replace("00000000-0000-4000-8000-000000000201", run["runId"])
    path = path.replace("00000000-0000-4000-8000-000000000203", command["commandId"])
    body = case.raw.replace(b"00000000-0000-4000-8000-000000000202", command["attemptId"].encode())
    before = dict(world.runs.runs)
    status, problem = world.send({**case.request, "path": path}, body)
    assert (status, problem["code"]) == (case.status, case.code)
    assert world.runs.runs == before


def test_e4_a_run_is_created_once_whatever_is_repeated(world: World) -> None:
    status, run = world.create()
    again, same = world.create()
    other, problem = world.create(timeLimitSeconds=60)
    assert (status, again, other) == (201, 200, 409)
    assert (same, problem["code"]) == (run, "command_reused")
    assert list(run) == list(load("run").valid[0].body)
    assert world.send({**load("run").request, "headers": {"Authorization": "$MEMBER"},
                       "path": f"/api/v1/projects/{PROJECT}/runs/{run['runId']}"}) == (200, run)  # fmt: skip


def test_e3_a_stage_goes_from_member_to_site_and_back(world: World) -> None:
    world.create()
    [command] = world.listed()
    assert command["validUntil"] == "2026-11-02T10:01:30Z"
    assert list(command) == list(load("site-commands").valid[0].body["commands"][0])
    named, attempt = command["commandId"], command["attemptId"]
    status, token = world.say("member-token-request", named, attempt)
    assert (status, token["repositoryCredential"]["username"]) == (200, "pharos-run")
    assert world.say("command-result", named, attempt)[1]["code"] == "command_not_acknowledged"
    receipts = [world.say("command-ack", named, attempt)[1]["outcome"] for _ in range(2)]
    assert receipts == ["recorded", "unchanged"]
    assert world.say("member-token-request", named, attempt)[1]["code"] == "command_acknowledged"
    assert world.say("command-result", named, attempt)[1]["outcome"] == "recorded"
    following = world.listed("/v1/site/commands?after=1")
    assert [each["action"]["stage"] for each in following] == ["compute"]
    assert (
        world.say("member-token-request", following[0]["commandId"], attempt)[1]["repositoryCredential"]
        is None
    )


def test_e3_a_command_of_another_site_or_attempt_is_refused(world: World) -> None:
    world.create()
    [command] = world.listed()
    nobody, attempt = str(UUID(int=999)), command["attemptId"]
    for golden in ("command-ack", "command-result", "member-token-request"):
        assert world.say(golden, nobody, attempt)[1]["code"] == "command_unknown"
        assert world.say(golden, command["commandId"], nobody)[1]["code"] == "attempt_mismatch"
    status, problem = world.send(
        {**load("site-commands-request").request, "path": "/v1/site/commands?after=9"}
    )
    assert (status, problem["code"], problem["head"]) == (409, "feed_position_unknown", 1)


def test_e5_an_ended_consent_makes_the_run_wait_and_say_so(world: World) -> None:
    _, run = world.create()
    [command] = world.listed()
    world.others.consent = False
    status, problem = world.say("member-token-request", command["commandId"], command["attemptId"])
    assert (status, problem["code"]) == (409, "consent_expired")
    waiting = world.runs.runs[UUID(run["runId"])]
    assert (waiting.state.value, waiting.reason) == ("waiting", "consent_expired")
    world.others.consent = True
    assert world.say("member-token-request", command["commandId"], command["attemptId"])[0] == 200
    assert world.runs.runs[UUID(run["runId"])].state.value == "running"


def test_e7_who_has_left_gets_no_token_sees_nothing_and_starts_nothing(world: World) -> None:
    _, run = world.create()
    [command] = world.listed()
    world.others.denied |= set(Permission)
    status, problem = world.say("member-token-request", command["commandId"], command["attemptId"])
    assert (status, problem["code"]) == (403, "authority_refused")
    assert world.listed()[0]["validUntil"] == command["issuedAt"]
    assert world.create(number=43)[1]["code"] == "forbidden"
    cancel = load("run-cancel").request | {"path": f"/api/v1/projects/{PROJECT}/runs/{run['runId']}/cancel"}
    assert world.send(cancel, load("run-cancel").valid[0].canonical)[1]["code"] == "forbidden"


def test_e7_a_cancel_names_its_actor_and_ends_once(world: World) -> None:
    _, run = world.create()
    [command] = world.listed()
    world.say("command-ack", command["commandId"], command["attemptId"])
    cancel = load("run-cancel").request | {"path": f"/api/v1/projects/{PROJECT}/runs/{run['runId']}/cancel"}
    cancel["headers"] = cancel["headers"] | {"Idempotency-Key": "00000000-0000-4000-8000-000000000076"}
    status, asked = world.send(cancel, load("run-cancel").valid[0].canonical)
    assert (status, asked["state"], asked["cancelledBy"]) == (202, "cancelling", str(PARTY))
    world.say(
        "command-result", command["commandId"], command["attemptId"], verdict="cancelled", exitCode=None
    )
    headers = cancel["headers"] | {"Idempotency-Key": "00000000-0000-4000-8000-000000000077"}
    status, problem = world.send({**cancel, "headers": headers}, load("run-cancel").valid[0].canonical)
    assert (status, problem["code"]) == (409, "run_ended")
    other = cancel["path"].replace(str(PROJECT), "00000000-0000-4000-8000-000000000998")
    assert (
        world.send({**cancel, "path": other}, load("run-cancel").valid[0].canonical)[1]["code"] == "forbidden"
    )


@pytest.mark.parametrize(
    ("others", "status", "code"),
    [
        ({"open": False}, 409, "site_not_qualified"),
        ({"has_account": False}, 409, "account_absent"),
        ({"no_account": AccountSeveral()}, 409, "account_ambiguous"),
        ({"no_account": AccountAwaits("generation_pending")}, 503, "account_awaiting_site"),
        ({"resources_of": {"slurm": []}}, 422, "allocation_unknown"),
        ({"resources_of": {"slurm": [READY, replace(READY, allocation_id=UUID(int=9))]}}, 422,
         "allocation_ambiguous"),
        ({"resources_of": {"slurm": [replace(READY, lifecycle=Lifecycle.SUSPENDED)]}}, 409,
         "resource_suspended"),
        ({"resources_of": {"slurm": [replace(READY, lifecycle=Lifecycle.NOT_READY)]}}, 503,
         "resource_not_ready"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_p26_p31_every_refusal_has_its_reason_and_saves_nothing(
    others: dict[str, Any], status: int, code: str, world: World
) -> None:
    for name, value in others.items():
        setattr(world.others, name, value)
    answered, problem = world.create(allocationId=None)
    assert (answered, problem["code"]) == (status, code)
    assert world.runs.runs == {}


def test_e4_a_run_of_another_project_is_unknown(world: World) -> None:
    path = f"/api/v1/projects/{PROJECT}/runs/{UUID(int=993)}"
    status, problem = world.send(
        {**load("run").request, "headers": {"Authorization": "$MEMBER"}, "path": path}
    )
    assert (status, problem["code"]) == (404, "run_unknown")


def test_x5_no_token_is_logged_or_shown(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.create()
    [command] = world.listed()
    with caplog.at_level("DEBUG"):
        status, given = world.say("member-token-request", command["commandId"], command["attemptId"])
    assert status == 200
    assert given["token"] not in caplog.text
    assert given["repositoryCredential"]["password"] not in caplog.text
    assert given["token"] not in repr(world.others.token(PARTY, "slurm", CLOCK))
