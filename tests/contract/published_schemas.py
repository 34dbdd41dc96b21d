"""The schemas of docs/openapi.json and docs/messages.schema.json, by the golden each is of (X10)."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

DOCS = Path(__file__).parents[2] / "docs"
SPECIAL = {"AccountReport": ["account-report", "account-report-kubernetes"]}


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Golden name → schema."""
    http = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))["components"]["schemas"]
    messages = json.loads((DOCS / "messages.schema.json").read_text(encoding="utf-8"))["$defs"]
    found: dict[str, dict[str, Any]] = {}
    for title, schema in {**http, **messages}.items():
        usual = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", title).lower()
        found |= dict.fromkeys(SPECIAL.get(title, [usual]), schema)
    return found


def refuses(schema: dict[str, Any], body: Any) -> bool:
    """Whether the body breaks its schema."""
    return not jsonschema.Draft202012Validator(schema).is_valid(body)
