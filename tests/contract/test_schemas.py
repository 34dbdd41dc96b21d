"""The published schemas (docs/openapi.json, docs/messages.schema.json) agree with the goldens (X10).

Every valid body satisfies its schema, in the schema's own member order. Every refused body is refused by the
schema too, or stands in `BEYOND` as a rule of docs/wire.md that no schema can say.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.contract.goldens import load, names
from tests.contract.published_schemas import refuses, schemas

OF_FORM = {"body_invalid", "time_invalid", "answer_malformed", "message_malformed", "query_malformed"}
"""Codes that speak of a body's form; the others need state, a clock, a header or bytes that are no JSON."""

BEYOND = {
    "accepted-work-page": {"next_without_items"},
    "account-report": {"native_uid_twice"},
    "account-sets": {"allocation_twice", "native_uid_twice"},
    "account-sets-outcomes": {"code_without_refusal", "refused_without_code"},
    "allocation-report": {"amount_exponent", "amount_fraction", "resource_twice"},
    "allocation-report-outcomes": {"refused_without_code"},
    "command-ack": {"accepted_with_code", "refused_with_job", "refused_without_code"},
    "command-result": {"completed_with_exit_1", "ended_before_started", "lost_without_code"},
    "member-key-add": {"name_with_bidi_override", "name_with_blank_end", "name_with_newline"},
    "member-token": {"valid_after_expiry"},
    "party-changed": {"binding_id_twice"},
    "project-members": {
        "code_with_members",
        "count_of_another_list",
        "neither_project_nor_code",
        "out_of_order",
        "username_twice",
    },
    "retained-accounts": {"count_of_another_list"},
    "site-commands": {"command_twice", "sequence_backwards"},
    "site-members": {"count_of_another_list", "out_of_order", "username_twice"},
    "site-maintenance": {"back_with_until", "draining_without_reason"},
    "snapshot-page": {"items_out_of_order", "next_is_not_the_last"},
    "ssh-access-changes": {
        "fingerprint_of_another_key",
        "more_without_a_change",
        "next_before_last",
        "same_key_twice",
        "sequence_backwards",
        "sequence_twice",
    },
    "ssh-access-receipts": {"other_order", "receipt_missing"},
    "ssh-access-results": {"applied_with_code", "change_twice", "refused_without_code", "sequence_fraction"},
}
"""Orders, sums, one member against another; and 7.0, which JSON Schema takes for an integer."""


def parsed(raw: bytes) -> Any:
    """The body of bytes that are JSON, as a lenient reader sees them; else None."""
    try:
        return json.loads(raw)
    except ValueError:
        return None


def out_of_order(schema: dict[str, Any], body: Any, pointer: str = "") -> list[str]:
    """Objects of the body whose members do not stand in the schema's order (docs/wire.md, rule 7)."""
    if isinstance(body, list):
        items = schema.get("items", {})
        return [f for i, item in enumerate(body) for f in out_of_order(items, item, f"{pointer}/{i}")]
    if not isinstance(body, dict):
        return []
    kind = next((s for s in alternatives(schema) if not refuses(s, body)), {})
    declared = list(kind.get("properties", {}))
    here = [] if not declared or list(body) == [n for n in declared if n in body] else [pointer or "/"]
    inner = kind.get("properties", {})
    return here + [f for n, v in body.items() for f in out_of_order(inner.get(n, {}), v, f"{pointer}/{n}")]


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema's branches, or itself."""
    branches: list[dict[str, Any]] = schema.get("oneOf") or schema.get("anyOf") or [schema]
    return branches


WITH_BODY = [
    n for n in names() if any(v.body is not None for v in load(n).valid) and not n.startswith("waldur-")
]


def test_every_golden_with_a_body_has_a_schema() -> None:
    assert set(WITH_BODY) == set(schemas())


@pytest.mark.parametrize("name", WITH_BODY)
def test_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas()[name])


@pytest.mark.parametrize("name", WITH_BODY)
def test_valid_bodies_satisfy_their_schema(name: str) -> None:
    for case in load(name).valid:
        errors = jsonschema.Draft202012Validator(schemas()[name]).iter_errors(case.body)
        assert [f"{case.name}: {e.json_path} {e.message}" for e in errors] == []
        assert out_of_order(schemas()[name], case.body) == [], case.name


@pytest.mark.parametrize("name", WITH_BODY)
def test_refused_bodies_break_their_schema(name: str) -> None:
    passed = set()
    for case in load(name).refused:
        body = parsed(case.raw)
        by_request = case.request != load(name).request
        twice = case.name == "duplicate_key"
        if case.code in OF_FORM and body is not None and not by_request and not twice:
            passed |= {case.name} if not refuses(schemas()[name], body) else set()
    assert passed == BEYOND.get(name, set())


def test_rules_see() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    assert refuses(schema, {"a": "1"})
    assert out_of_order(schema, {"b": 1, "a": 2}) == ["/"]
    assert out_of_order(schema, {"a": 1, "b": 2}) == []
