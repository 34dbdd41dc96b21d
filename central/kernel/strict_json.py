"""JSON in, strictly (X4), and one canonical form out.

Every refusal is a 400 ``Problem`` with its own code, raised in this order:

1. UTF-8 without byte order mark.
2. Depth, number of values and length of numbers, bounded by ``JsonLimits`` before anything is built.
3. JSON (RFC 8259; NaN and Infinity are not JSON) with an object at the top.
4. No duplicate key, no NUL, no lone surrogate, no number without a finite value.
5. The schema: a ``msgspec.Struct`` declared with ``forbid_unknown_fields=True``; the error names the place by
   JSON Pointer and never repeats a value.
"""

import json
import re
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import msgspec

from central.kernel.closed_types import closed_depth, shows_every_key
from central.kernel.problems import (
    BODY_INVALID,
    JSON_BAD_NUMBER,
    JSON_BAD_STRING,
    JSON_DUPLICATE_KEY,
    JSON_MALFORMED,
    JSON_NOT_OBJECT,
    JSON_NOT_UTF8,
    JSON_TOO_DEEP,
    JSON_TOO_MANY_ITEMS,
    FieldError,
    Problem,
)

T = TypeVar("T")

MAX_INTEGER = 2**63 - 1
"""The largest canonical amount, sequence or revision (X3)."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Bounds on a body. ``depth`` counts nested containers, ``items`` counts values, ``digits`` one
    number's.
    """

    depth: int = 16
    items: int = 50_000
    digits: int = 32


DEFAULT_LIMITS = JsonLimits()


# The closing quote is optional: an open string is then read once, not once from each of its quotes.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_LEAF = re.compile(rb"\[\]|\{\}")
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_ZEROS = bytes.maketrans(b"123456789.", b"0" * 10)
_PATH = re.compile(r" - at `(?:key` in `)?(\$[^`]*)`\Z")
_UNKNOWN = re.compile(r"\AObject contains unknown field `(.*)`\Z", re.DOTALL)


def decode(body: bytes, type_: type[T], *, limits: JsonLimits = DEFAULT_LIMITS) -> T:
    """Return ``body`` as ``type_``, or raise the ``Problem`` of the first rule it breaks."""
    fits = _plainly_fits(body, type_, limits)
    if fits is not None:
        return fits
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(JSON_NOT_UTF8, f"byte {error.start} of the body does not continue UTF-8") from None
    _check_structure(_STRING.sub(b"", body), limits)
    _check_values(body)
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.ValidationError as error:
        _refuse_schema(error)


def _plainly_fits(body: bytes, type_: type[T], limits: JsonLimits) -> T | None:
    """Return the value of a body that certainly breaks no rule; telling *which* rule one breaks takes longer.

    Nothing is escaped, what could count as a value or a digit is within the limits even if it all does, the
    type itself bounds the depth, and the value, or one read without a type, loses no key.
    """
    depth = closed_depth(type_)
    if depth is None or depth > limits.depth or b"\\" in body or _long_number(body, limits):
        return None
    if body.count(b",") + body.count(b"{") + body.count(b"[") > limits.items:
        return None
    try:
        value = msgspec.json.decode(body, type=type_)
        whole = value if shows_every_key(type_) else msgspec.json.decode(body)
        return None if _loses_a_key(body, whole) else value
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _loses_a_key(body: bytes, value: object) -> bool:
    """Nothing is escaped, so every quote opens or closes a string; a lost key is two quotes fewer."""
    again = msgspec.json.encode(value)
    return again != body and again.count(b'"') != body.count(b'"')


def _long_number(text: bytes, limits: JsonLimits) -> bool:
    return b"0" * (limits.digits + 1) in text.translate(_ZEROS)


def encode(value: object) -> bytes:
    """Return the canonical form: UTF-8, no spaces, keys of mappings sorted, struct fields as declared."""
    return msgspec.json.encode(value, order="deterministic")


def encoded_size(value: object) -> int:
    """Bytes of the canonical form."""
    return len(encode(value))


def _check_structure(structure: bytes, limits: JsonLimits) -> None:
    brackets = structure.translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * limits.depth:
        for _ in range(limits.depth):
            brackets = _LEAF.sub(b"", brackets)
        if brackets:
            raise Problem(JSON_TOO_DEEP, f"the body nests deeper than {limits.depth} levels or is unbalanced")
    items = structure.count(b",") + structure.count(b"{") + structure.count(b"[")
    if items > limits.items:
        raise Problem(JSON_TOO_MANY_ITEMS, f"the body holds more than {limits.items} values; split it")
    if _long_number(structure, limits):
        raise Problem(JSON_BAD_NUMBER, f"a number has more than {limits.digits} digits")


def _check_values(body: bytes) -> None:
    """Refuse malformed JSON, another top than an object, duplicate keys, NUL and lone surrogates."""
    try:
        value = msgspec.json.decode(body)
    except msgspec.ValidationError:
        raise Problem(
            JSON_BAD_NUMBER, "a number is out of range; send integers of at most 19 digits"
        ) from None
    except msgspec.DecodeError as error:
        if "surrogate" in str(error) or re.search(rb"\\u[dD][89a-fA-F]", body):
            raise Problem(JSON_BAD_STRING, "a string holds a lone surrogate") from None
        raise Problem(JSON_MALFORMED, "the body is not JSON (RFC 8259); send one JSON object") from None
    except RecursionError:
        raise Problem(JSON_TOO_DEEP, "the body nests too deeply") from None
    if not isinstance(value, dict):
        raise Problem(JSON_NOT_OBJECT, "the top of the body is not an object; send one JSON object")
    if b"\\" not in body:
        if _loses_a_key(body, value):
            raise Problem(JSON_DUPLICATE_KEY, "an object names one key twice; send each key once")
        return
    if _ESCAPED_NUL.search(body):
        raise Problem(JSON_BAD_STRING, "a string holds U+0000")
    json.loads(body, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Problem(JSON_DUPLICATE_KEY, "an object names one key twice; send each key once")
    return found


def _refuse_schema(error: msgspec.ValidationError) -> NoReturn:
    message = str(error)
    path = _PATH.search(message)
    pointer = _pointer(path.group(1)) if path else ""
    reason = _PATH.sub("", message)
    unknown = _UNKNOWN.search(reason)
    if unknown is not None:
        name = unknown.group(1)[:64].replace("~", "~0").replace("/", "~1")
        pointer, reason = f"{pointer}/{name}", "unknown field"
    elif reason.startswith("Invalid enum value"):
        reason = "not one of the values the schema allows"
    elif reason.startswith("Invalid value"):
        reason = "not a value the schema allows"
    where = pointer or "the body"
    raise Problem(
        BODY_INVALID,
        f"{where}: {reason}; docs/wire.md holds the schema",
        errors=[FieldError(pointer, reason)],
    ) from None


def _pointer(path: str) -> str:
    """Turn msgspec's ``$.a[0].b`` into the JSON Pointer ``/a/0/b``.

    Which member of a map it was, ``[...]``, msgspec does not say: the pointer names the map.
    """
    plain = path.removeprefix("$").partition("[...]")[0]
    return re.sub(r"\[([^\]]*)\]", r"/\1", plain).replace(".", "/")
