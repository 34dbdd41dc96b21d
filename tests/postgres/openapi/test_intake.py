"""The running intake against its published OpenAPI: whatever is sent, no 5xx and no undocumented answer
(X4, X10, P11).

Requests are made by schemathesis from `docs/openapi.json`, right ones and wrong ones; over each lies some of
what is true of the running intake, often all of it, so that many pass the first checks. `--seed`, which every
run prints, makes the same requests again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from schemathesis.generation import GenerationMode

from tests.postgres.conftest import PgServer
from tests.postgres.openapi.published import exchange_all, operations, succeeded, whole
from tests.postgres.openapi.world import HEADERS, PREFIX, SITE, USERNAME, World, running
from tests.postgres.provisioning.intake_process import seconds_ago

SECONDS = 2.0
"""For each operation and kind of request, unless the long suites run whole; what is left then is not sent."""
TRUE = ("site", "authorization", "schema", "names", "time", "numbers")
"""What may be laid over a made request."""


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


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations(PREFIX), ids=lambda one: one.definition.raw["operationId"])
def test_x10_the_intake_answers_as_published(operation: Any, mode: GenerationMode, world: World) -> None:
    world.refresh()
    try:
        seen = exchange_all(
            operation,
            mode,
            world.url,
            true=TRUE,
            lay_over=lambda case, truth: lay_over(case, world, truth),
            seconds=SECONDS,
        )
    finally:
        assert defects(world) == []
    assert mode is GenerationMode.NEGATIVE or succeeded(seen), seen


def defects(world: World) -> list[str]:
    """What the intake logged of its own defects, whole."""
    return [line for line in world.log.read_text().splitlines() if "Traceback" in line]
