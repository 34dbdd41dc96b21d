"""Problem documents (RFC 9457) with stable codes (X4)."""

import re

import msgspec
import pytest

from central.kernel.problems import (
    BODY_INVALID,
    PROBLEMS,
    FieldError,
    Problem,
    ProblemSpec,
    problem_table,
)


def test_the_document_holds_the_members_of_rfc_9457_and_ours() -> None:
    problem = Problem(BODY_INVALID, "found", errors=[FieldError("/a/0", "wrong")], extra={"limit": 20})
    assert msgspec.json.decode(problem.document(request_id="r1")) == {
        "type": "urn:pharos:problem:body_invalid",
        "title": BODY_INVALID.title,
        "status": 400,
        "code": "body_invalid",
        "detail": "found",
        "errors": [{"pointer": "/a/0", "detail": "wrong"}],
        "limit": 20,
        "requestId": "r1",
    }


def test_without_errors_and_request_id_those_members_are_left_out() -> None:
    assert set(msgspec.json.decode(Problem(BODY_INVALID, "x").document())) == {
        "type", "title", "status", "code", "detail",
    }  # fmt: skip


@pytest.mark.parametrize("spec", PROBLEMS.values(), ids=lambda spec: spec.code)
def test_every_problem_is_documented(spec: ProblemSpec) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", spec.code)
    assert 400 <= spec.status < 600
    assert spec.meaning.endswith(".")
    assert spec.remedy.endswith(".")
    assert PROBLEMS[spec.code] is spec


def test_two_problems_never_share_a_code() -> None:
    with pytest.raises(ValueError, match="share"):
        problem_table(BODY_INVALID, ProblemSpec("body_invalid", 400, "t", "m.", "r."))
