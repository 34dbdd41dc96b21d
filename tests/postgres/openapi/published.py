"""A running API against its published OpenAPI: whatever is sent, no 5xx and no undocumented answer (X4, X10).

Requests are made by schemathesis from `docs/openapi.json`, right ones and wrong ones. The seed every run
prints makes the same requests again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import checks as standard
from schemathesis.generation import GenerationMode

from tests import long
from tests.architecture.generated import generate
from tests.architecture.sources import ROOT

LEAST = 10
"""So many answers at least, however slow the machine is."""

MORE_TURNS = 10
"""So often more requests are made when none was right yet: which are made is chance's alone."""

LayOver = Callable[[Any, frozenset[str]], None]


def operations(*prefixes: str) -> list[Any]:
    """The published operations below some paths."""
    schema = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.json")
    results: list[Any] = list(schema.get_all_operations())
    return [one for one in (result.ok() for result in results) if one.path.startswith(prefixes)]


def documented() -> dict[str, int]:
    """Status by code of every problem central answers."""
    return {spec.code: spec.status for _, spec in generate().problem_specs()}


def whole(value: Any) -> Any:
    """With whole numbers as JSON integers: to a schema `7.0` is one, to docs/wire.md it is not."""
    if isinstance(value, dict):
        return {key: whole(member) for key, member in value.items()}
    if isinstance(value, list):
        return [whole(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check(case: Any, answer: Any, codes: dict[str, int], *, expected: frozenset[str] = frozenset()) -> None:
    """One answer: never 5xx but a code of `expected`, its form as published, its code documented under this
    status.
    """
    checks = [
        standard.status_code_conformance,
        standard.content_type_conformance,
        standard.response_headers_conformance,
        standard.response_schema_conformance,
    ]
    if answer.status_code != 503 or answer.json().get("code") not in expected:
        checks.append(standard.not_a_server_error)
    case.validate_response(answer, checks=checks)
    assert answer.headers["cache-control"] == ["no-store"]
    if answer.status_code >= 300:
        problem = answer.json()
        assert codes.get(problem["code"]) == answer.status_code == problem["status"], problem
        assert problem["requestId"] == answer.headers["x-request-id"][0]


def exchange_all(
    operation: Any,
    mode: GenerationMode,
    url: str,
    *,
    true: tuple[str, ...],
    lay_over: LayOver,
    seconds: float,
    expected: frozenset[str] = frozenset(),
) -> Counter[str]:
    """Sends what fits into `seconds` (all of it in a soak); how often each status or code was answered.

    `lay_over` makes parts of a request true, often all in `true`, so that many pass the first checks.
    """
    codes, seen = documented(), Counter[str]()
    truths = st.one_of(st.just(frozenset(true)), st.sets(st.sampled_from(true)).map(frozenset))
    session, end = requests.Session(), time.monotonic() + seconds

    @settings(
        max_examples=long.examples(40),
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), truth=truths)
    def exchange(case: Any, truth: frozenset[str]) -> None:
        enough = seen.total() >= LEAST and (mode is GenerationMode.NEGATIVE or succeeded(seen))
        if time.monotonic() > end and enough and not long.SOAK:
            return
        lay_over(case, truth)
        answer = case.call(base_url=url, session=session)
        check(case, answer, codes, expected=expected)
        seen[str(answer.status_code) if answer.status_code < 300 else answer.json()["code"]] += 1

    try:
        with session:
            exchange()
            for turn in range(MORE_TURNS):
                if mode is GenerationMode.NEGATIVE or succeeded(seen):
                    break
                seed(MORE_TURNS * long.SEED + turn)(exchange)()
    finally:
        print(operation.label, mode.value, dict(seen))
    return seen


def succeeded(seen: Counter[str]) -> bool:
    """Whether any request was right."""
    return any(word in seen for word in ("200", "201", "202", "204"))
