"""Strict JSON in (X4): UTF-8, an object (or a list, if asked) at the top, no duplicate key, no NaN or
Infinity, no lone surrogate, no NUL, bounded size and depth; then exactly the expected shape.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from site_bundle.kernel.documents import ShapeError, read_document

T = TypeVar("T")

MAX_DEPTH = 16
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


class MalformedJsonError(ValueError):
    """The bytes are not the JSON that was asked for; the text names the rule, never the content."""


def decode_object(raw: bytes, shape: type[T], *, max_bytes: int) -> T:
    """`raw` as a `shape`, a dataclass by the rules of `kernel.documents`. Raises MalformedJsonError."""
    try:
        return read_document(parse_object(raw, max_bytes=max_bytes), shape)
    except ShapeError as error:
        raise MalformedJsonError(str(error)) from error


def parse_object(raw: bytes, *, max_bytes: int) -> dict[str, Any]:
    """The object `raw` holds, by every rule of the module but the shape."""
    value = _parse(raw, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise MalformedJsonError("the top is not an object")
    return value


def parse_list(raw: bytes, *, max_bytes: int) -> list[Any]:
    """The list `raw` holds, by every rule of the module but the shape."""
    value = _parse(raw, max_bytes=max_bytes)
    if not isinstance(value, list):
        raise MalformedJsonError("the top is not a list")
    return value


def _parse(raw: bytes, *, max_bytes: int) -> Any:
    if len(raw) > max_bytes:
        raise MalformedJsonError(f"longer than {max_bytes} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJsonError("not UTF-8") from error
    if text.startswith("\ufeff"):
        raise MalformedJsonError("starts with a byte order mark")
    _check_depth(text)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except MalformedJsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedJsonError("not JSON") from error
    if "\\u" in text:
        _check_strings(value)
    return value


def _check_depth(text: str) -> None:
    depth = 0
    for token in _STRUCTURE.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise MalformedJsonError(f"nested deeper than {MAX_DEPTH}")
        elif first in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise MalformedJsonError("a key stands twice in one object")
    return made


def _no_constant(name: str) -> Any:
    raise MalformedJsonError(f"{name} is not JSON")


def _check_strings(value: Any) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            _check_text(key)
            _check_strings(member)
    elif isinstance(value, list):
        for member in value:
            _check_strings(member)
    elif isinstance(value, str):
        _check_text(value)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise MalformedJsonError("a NUL in a string")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedJsonError("a lone surrogate in a string") from error
