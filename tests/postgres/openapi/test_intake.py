"""The running intake against its published OpenAPI: whatever is sent, no 5xx and no undocumented answer
(X4, X10, P11).

Requests are made by schemathesis from `docs/openapi.json`, right ones and wrong ones; over each lies some of
what is true of the running intake, often all of it, so that many pass the first checks. `--seed`, which every
run prints, makes the same requests again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import checks as standard
from schemathesis.generation import GenerationMode

from tests import long
from tests.architecture.generated import generate
from tests.architecture.sources import ROOT
from tests.postgres.conftest import PgServer
from tests.postgres.openapi.world import HEADERS, SITE, USERNAME, World, running
from tests.postgres.provisioning.test_process import seconds_ago

PREFIX = "/resource-provisioning/"
LEAST = 10
"""So many answers at least, however slow the machine is."""
SECONDS = 2.0
"""For each operation and kind of request, unless the long suites run whole; what is left then is not sent."""
TRUE = ("site", "authorization", "schema", "names", "time", "numbers")
"""What may be laid over a made request."""
truths = st.one_of(st.just(frozenset(TRUE)), st.sets(st.sampled_from(TRUE)).map(frozenset))


def operations() -> list[Any]:
    """The operations of the intake."""
    schema = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.json")
    results: list[Any] = list(schema.get_all_operations())
    return [one for one in (result.ok() for result in results) if one.path.startswith(PREFIX)]


def documented() -> dict[str, int]:
    """Status by code of every problem central answers."""
    return {spec.code: spec.status for _, spec in generate().problem_specs()}


@pytest.fixture(scope="module")
def world(pg_server: PgServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One intake for the module."""
    name = "openapi_intake"
    pg_server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        with running(pg_server, name, tmp_path_factory.mktemp("openapi")) as made:
            yield made
    finally:
        pg_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def lay_over(case: Any, world: World, truth: frozenset[str]) -> None:
    """Makes parts of a request true."""
    if "site" in truth:
        case.path_parameters = dict(case.path_parameters or {}) | {"site": SITE}
    wanted = {"authorization": "Authorization", "schema": "Pharos-Schema"}
    for part, header in wanted.items():
        if part in truth:
            case.headers[header] = HEADERS[header]
    if "names" in truth:
        _name(case, world)
    if "numbers" in truth:
        case.body = whole(case.body)
    body = case.body
    if "time" in truth and isinstance(body, dict) and "observedAt" in body:
        body["observedAt"] = seconds_ago(1)


def whole(value: Any) -> Any:
    """With whole numbers as JSON integers: to a schema `7.0` is one, to docs/wire.md it is not."""
    if isinstance(value, dict):
        return {key: whole(member) for key, member in value.items()}
    if isinstance(value, list):
        return [whole(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _name(case: Any, world: World) -> None:
    """What the intake knows by these names."""
    parts = case.path_parameters or {}
    for name, known in (("allocationId", world.allocation), ("username", USERNAME)):
        if name in parts:
            parts[name] = known
    if isinstance(case.query, dict) and "providerProjectRef" in case.query:
        case.query["providerProjectRef"] = world.ref
    if isinstance(case.body, dict) and "allocationId" in case.body:
        case.body["allocationId"] = world.allocation


def check(case: Any, answer: Any, codes: dict[str, int]) -> None:
    """One answer: never 5xx, its form as published, its code documented under this status."""
    case.validate_response(
        answer,
        checks=[
            standard.not_a_server_error,
            standard.status_code_conformance,
            standard.content_type_conformance,
            standard.response_headers_conformance,
            standard.response_schema_conformance,
        ],
    )
    assert answer.headers["cache-control"] == ["no-store"]
    if answer.status_code != 200:
        problem = answer.json()
        assert codes.get(problem["code"]) == answer.status_code == problem["status"], problem
        assert problem["requestId"] == answer.headers["x-request-id"][0]


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.definition.raw["operationId"])
def test_x10_the_intake_answers_as_published(operation: Any, mode: GenerationMode, world: World) -> None:
    codes, seen = documented(), Counter[str]()
    session = requests.Session()
    world.refresh()
    end = time.monotonic() + SECONDS

    @settings(
        max_examples=long.examples(40),
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), truth=truths)
    def exchange(case: Any, truth: frozenset[str]) -> None:
        enough = seen.total() >= LEAST and (mode is GenerationMode.NEGATIVE or "200" in seen)
        if time.monotonic() > end and enough and not long.SOAK:
            return
        lay_over(case, world, truth)
        answer = case.call(base_url=world.url, session=session)
        check(case, answer, codes)
        seen["200" if answer.status_code == 200 else answer.json()["code"]] += 1

    try:
        with session:
            exchange()
    finally:
        print(operation.label, mode.value, dict(seen))
        assert defects(world) == []
    assert mode is GenerationMode.NEGATIVE or "200" in seen, seen


def defects(world: World) -> list[str]:
    """What the intake logged of its own defects, whole."""
    return [line for line in world.log.read_text().splitlines() if "Traceback" in line]
