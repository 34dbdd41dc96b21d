"""The rules of docs/wire.md as the stand-in checks them, in the page's order; written on their own."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
OUTCOMES = {"applied", "removed_from_directory", "pending", "held", "refused"}
MAX_BODY = 256 * 1024


class Problem(Exception):
    """A refusal: HTTP status and code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


def check_schema_header(value: str | None) -> None:
    """`Pharos-Schema: LOW-HIGH` must include 1."""
    found = re.fullmatch(r"([1-9]\d{0,4})-([1-9]\d{0,4})", value or "", re.ASCII)
    if found is None or int(found[1]) > int(found[2]):
        raise Problem(400, "request_malformed")
    if int(found[1]) > 1:
        raise Problem(406, "schema_unsupported")


def changes_query(query: str) -> dict[str, int]:
    """after, wait and limit of the changes call."""
    ranges = {"after": (0, 2**63 - 1), "wait": (0, 55), "limit": (1, 500)}
    return {"wait": 0, "limit": 500} | ranged_query(query, ranges)


def ranged_query(query: str, ranges: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Numbers of exactly these names, each once and in its range; `after` must be there."""
    values: dict[str, int] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in ranges or name in values or not re.fullmatch(r"\d{1,19}", text, re.ASCII):
            raise Problem(400, "query_invalid")
        values[name] = int(text)
        if not ranges[name][0] <= values[name] <= ranges[name][1]:
            raise Problem(400, "query_invalid")
    if "after" not in values:
        raise Problem(400, "query_invalid")
    return values


def results_body(raw: bytes, now: datetime) -> tuple[dict[str, Any], datetime]:
    """The report and its observedAt."""
    if len(raw) > MAX_BODY:
        raise Problem(413, "body_too_large")
    body = parse_json(raw)
    if set(body) != {"schema", "reportId", "observedAt", "results"} or body["schema"] != 1:
        raise Problem(400, "body_invalid")
    if isinstance(body["schema"], bool) or not _is_uuid(body["reportId"]):
        raise Problem(400, "body_invalid")
    observed_at = parse_time(body["observedAt"])
    results = body["results"]
    if not isinstance(results, list) or not 1 <= len(results) <= 500:
        raise Problem(400, "body_invalid")
    for item in results:
        _check_result(item)
    if len({item["changeId"] for item in results}) != len(results):
        raise Problem(400, "body_invalid")
    if observed_at > now + timedelta(seconds=5):
        raise Problem(422, "observed_in_future")
    return body, observed_at


def _check_result(item: Any) -> None:
    wanted = {"changeId", "sequence", "keyId", "outcome", "code"}
    if not isinstance(item, dict) or set(item) != wanted:
        raise Problem(400, "body_invalid")
    code, outcome, sequence = item["code"], item["outcome"], item["sequence"]
    whole = isinstance(sequence, int) and not isinstance(sequence, bool) and 1 <= sequence < 2**63
    named = code is None or (isinstance(code, str) and NAME.fullmatch(code))
    if not (_is_uuid(item["changeId"]) and _is_uuid(item["keyId"]) and whole and named):
        raise Problem(400, "body_invalid")
    if outcome not in OUTCOMES or (outcome == "refused" and code is None):
        raise Problem(400, "body_invalid")
    if outcome in {"applied", "removed_from_directory"} and code is not None:
        raise Problem(400, "body_invalid")


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def parse_time(value: Any) -> datetime:
    if not isinstance(value, str):
        raise Problem(400, "body_invalid")
    if not TIME.fullmatch(value):
        raise Problem(400, "time_invalid")
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError as error:
        raise Problem(400, "time_invalid") from error


def parse_json(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, "json_not_utf8") from error
    depth = deepest = 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        deepest = max(deepest, depth)
    if deepest > 16:
        raise Problem(400, "json_too_deep")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float)
    except ValueError as error:
        raise Problem(400, "json_malformed") from error
    if not isinstance(value, dict):
        raise Problem(400, "json_not_object")
    _check_strings(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Problem(400, "json_duplicate_key")
    return dict(pairs)


def _constant(_text: str) -> Any:
    raise Problem(400, "json_malformed")


def _float(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise Problem(400, "json_bad_number")
    return value


def _check_strings(value: Any) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _check_strings(name)
            _check_strings(member)
    elif isinstance(value, list):
        for member in value:
            _check_strings(member)
    elif isinstance(value, str) and re.search("[\0\ud800-\udfff]", value):
        raise Problem(400, "json_bad_string")
