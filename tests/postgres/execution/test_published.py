"""The Project API and the Site API against their published OpenAPI: nothing but what it says (X4, X10)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from schemathesis.generation import GenerationMode

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.execution.site import ScriptedSite, started
from tests.postgres.execution.world import Member, World
from tests.postgres.kernel.waiting import NEVER, until
from tests.postgres.openapi.published import exchange_all, operations, succeeded, whole

SECONDS = 0.8
"""For each operation and kind of request: 17 operations twice are half a minute."""
TRUE = ("authorization", "schema", "names", "fits", "time", "numbers", "key")
READS = {
    "listRuns", "getRun", "getRunResults", "projectAllocations", "createRun", "siteGrant", "siteCommands",
    "siteCommandsGrant", "unacknowledgedCommands", "sshAccessChanges",
}  # fmt: skip
"""Right requests of these have to have been answered: no state stands in their way."""
UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
HELD = "site_maintenance"
WAITS = frozenset({"unavailable"})
"""A token of a Run that waits, or of a Site that drains, is a documented 503."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is true in this world: a member, its Run and that one's command."""

    member: Member
    run: str
    command: dict[str, Any]


@pytest.fixture(scope="module")
def known(world: World) -> Iterator[Known]:
    site, member = ScriptedSite(world), world.new_member()
    run = started(world, member)
    [command] = site.of(run)
    yield Known(member, run, command)
    _leave_nothing(world, site, member)


def _leave_nothing(world: World, site: ScriptedSite, member: Member) -> None:
    """The Site takes work again, and has nothing of this member's left to do, nor will it: what was held
    has been asked for too. Its word is of now: a later one would outdate what the next test states.
    """
    site.maintain(False)

    def over() -> bool:
        runs = world.operator("show", "runs", "--live")["runs"]
        held = [run for run in runs if run["createdBy"] == member.party and run["reason"] == HELD]
        mine = [each for each in site.listed() if each["identity"]["username"] == member.username]
        for command in mine:
            status, said = site.ack(command, "test_is_over")
            assert status == 200, said
        return not mine and not held

    until(over, 4 * NEVER)


def lay_over(case: Any, truth: frozenset[str], world: World, known: Known) -> None:
    """Makes parts of a request true. No poll waits: a parked one would be waited for. A Project is this one
    or none: Beto decides nothing about others, which is the documented 503.
    """
    path, body = dict(case.path_parameters or {}), case.body
    if UUID_FORM.fullmatch(str(path.get("projectId", ""))):
        path["projectId"] = world.project
    site = case.path.startswith("/v1/site")
    if isinstance(case.query, dict) and "wait" in case.query:
        case.query["wait"] = 0
    if "authorization" in truth:
        word = world.grant if site else world.issuer.mint(known.member.party)
        case.headers["Authorization"] = f"Bearer {word}"
    if "schema" in truth and site:
        case.headers["Pharos-Schema"] = "1-1"
    if "key" in truth and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid4())
    if "names" in truth:
        true = {"projectId": world.project, "runId": known.run, "commandId": known.command["commandId"]}
        path |= {name: value for name, value in true.items() if name in path}
        if isinstance(case.query, dict) and "after" in case.query:
            case.query["after"] = 0
        if isinstance(body, dict) and "attemptId" in body:
            body["attemptId"] = known.command["attemptId"]
    case.path_parameters = path
    if "numbers" in truth:
        case.body = body = whole(body)
    if not isinstance(body, dict):
        return
    if "time" in truth:
        at = format_rfc3339(utc_now())
        body |= {name: at for name in ("observedAt", "acknowledgedAt") if name in body}
    if "fits" in truth and "argv" in body:
        body |= world.run_body()


def answered(operation: Any, mode: GenerationMode, world: World, known: Known, process: str) -> None:
    world.report()
    expected = WAITS if operation.path.endswith("member-token") else frozenset[str]()
    try:
        seen = exchange_all(
            operation,
            mode,
            f"http://127.0.0.1:{world.ports[process]}",
            true=TRUE,
            lay_over=lambda case, truth: lay_over(case, truth, world, known),
            seconds=SECONDS,
            expected=expected,
        )
    finally:
        assert "Traceback" not in world.log(process).read_text()
    right = mode is GenerationMode.NEGATIVE or operation.definition.raw["operationId"] not in READS
    assert right or succeeded(seen), seen


def named(operation: Any) -> str:
    return str(operation.definition.raw["operationId"])


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations("/api/v1/projects"), ids=named)
def test_x10_the_project_api_answers_as_published(
    operation: Any, mode: GenerationMode, world: World, known: Known
) -> None:
    answered(operation, mode, world, known, "project")


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations("/v1/site"), ids=named)
def test_x10_the_site_api_answers_as_published(
    operation: Any, mode: GenerationMode, world: World, known: Known
) -> None:
    answered(operation, mode, world, known, "site")
