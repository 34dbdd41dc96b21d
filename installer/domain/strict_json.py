"""JSON read without guessing (X4): UTF-8, no duplicate key, no NaN or Infinity, no lone surrogate, bounded.

Standard library only: the bootstrap reads its manifest with it before anything is installed.
"""

import json
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Bounds of one document: bytes, and open brackets at once."""

    size: int = 8 * 1024 * 1024
    depth: int = 16


class StrictJsonError(ValueError):
    """The bytes are not the strict JSON object that was wanted; the text says why, without quoting values."""


def decode_object(data: bytes, limits: JsonLimits = JsonLimits()) -> dict[str, object]:
    """The object at the top of ``data``. Raises StrictJsonError."""
    value = _decode(data, limits)
    if not isinstance(value, dict):
        raise StrictJsonError("not an object at the top")
    return value


def decode_array(data: bytes, limits: JsonLimits = JsonLimits()) -> list[object]:
    """The array at the top of ``data``, as Waldur lists things. Raises StrictJsonError."""
    value = _decode(data, limits)
    if not isinstance(value, list):
        raise StrictJsonError("not an array at the top")
    return value


def _decode(data: bytes, limits: JsonLimits) -> object:
    if len(data) > limits.size:
        raise StrictJsonError(f"{len(data)} bytes, more than {limits.size}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"not UTF-8 at byte {error.start}") from error
    if _depth(text) > limits.depth:
        raise StrictJsonError(f"nested deeper than {limits.depth}")
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"not JSON at line {error.lineno} column {error.colno}: {error.msg}") from error
    _refuse_bad_text(value)
    return value


def encode_canonical(value: object) -> bytes:
    """The one spelling of ``value``: sorted keys, two-space indent, ASCII, a final newline."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False)
    return (text + "\n").encode("ascii")


def _depth(text: str) -> int:
    """The most brackets open at once outside strings; judged before json recurses."""
    deepest = depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise StrictJsonError(f"key {key!a} twice")
        result[key] = value
    return result


def _no_constant(name: str) -> NoReturn:
    raise StrictJsonError(f"the constant {name}")


def _refuse_bad_text(value: object) -> None:
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise StrictJsonError("text with a NUL or a lone surrogate")
    elif isinstance(value, list):
        for item in value:
            _refuse_bad_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_bad_text(key)
            _refuse_bad_text(item)
