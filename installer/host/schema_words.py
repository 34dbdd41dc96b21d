"""A schema's verdict in words: line, place, what is allowed, what was probably meant; never a value (X5).

The value itself may be a secret in the wrong place, so only names of keys and words of the schema are told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, cast

from jsonschema.exceptions import ValidationError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Place = tuple[str | int, ...]
_SHOWN: Final = 5
_KEY: Final = 40
_WANTED: Final = 400


@dataclass(frozen=True, slots=True)
class Words:
    """All faults of a document: what was found, what is allowed there, what to do."""

    found: str
    wanted: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Fault:
    line: int
    text: str
    allowed: str = ""
    meant: str = ""


def line_numbers(node: Node, place: Place = ()) -> dict[Place, int]:
    """The line, from 1, on which each key or item of the document stands."""
    found = {place: node.start_mark.line + 1}
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                found |= line_numbers(value, (*place, str(key.value)))
                found[*place, str(key.value)] = key.start_mark.line + 1
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            found |= line_numbers(item, (*place, index))
    return found


def words_of(errors: Iterable[ValidationError], lines: Mapping[Place, int], *, schema: str) -> Words:
    """The words for ``errors`` (at least one) of a document with these ``lines``."""
    faults = sorted(
        (fault for error in errors for fault in _faults(error, lines)), key=lambda f: (f.line, f.text)
    )
    told = [f"line {fault.line}: {fault.text}" for fault in faults[:_SHOWN]]
    if len(faults) > _SHOWN:
        told.append(f"and {len(faults) - _SHOWN} more")
    allowed = "; ".join(dict.fromkeys(fault.allowed for fault in faults[:_SHOWN] if fault.allowed))
    meant = "".join(f"{fault.meant}? " for fault in faults[:_SHOWN] if fault.meant)
    return Words(
        found="; ".join(told),
        wanted=allowed[:_WANTED] or f"what {schema} says",
        remedy=f"{meant}Correct the file; profiles/README.md explains every key.",
    )


def _faults(error: ValidationError, lines: Mapping[Place, int]) -> list[_Fault]:
    place: Place = tuple(error.absolute_path)
    line = lines.get(place, 1)
    wanted: Any = error.validator_value
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        return _unknown(error, place, lines)
    if error.validator == "required" and isinstance(error.instance, dict):
        missing = [key for key in wanted if key not in error.instance]
        return [_missing(error, line, key) for key in missing[:1]]
    return [_value(error, line)]


def _missing(error: ValidationError, line: int, key: str) -> _Fault:
    meaning = _rules(error).get("properties", {}).get(key, {})
    meant = meaning.get("description", "") if isinstance(meaning, dict) else ""
    about = f"{error.json_path}.{key}: {meant}" if meant else ""
    return _Fault(line, f"key {key!a} is missing at {error.json_path}", about)


def _unknown(error: ValidationError, place: Place, lines: Mapping[Place, int]) -> list[_Fault]:
    known = list(_rules(error).get("properties", {}))
    instance: Any = error.instance
    unknown = sorted(str(key) for key in instance if key not in known)
    return [
        _Fault(
            lines.get((*place, key), 1),
            f"unknown key {key[:_KEY]!a} at {error.json_path}",
            f"at {error.json_path} one of {', '.join(known)}",
            _meant(key, known),
        )
        for key in unknown
    ]


def _value(error: ValidationError, line: int) -> _Fault:
    place, rule, limit = error.json_path, error.validator, cast("Any", error.validator_value)
    meaning = _rules(error).get("description", "")
    about = f"{place}: {meaning}" if meaning else ""
    match rule:
        case "enum":
            text = f"{place} is not within enum {limit}"
            return _Fault(line, text, f"{place} one of {_listed(limit)}", _meant(error.instance, limit))
        case "const":
            allowed = f"{place}: {_plain(limit)}, {meaning}"
            return _Fault(line, f"{place} is not within const {limit}", allowed)
        case "pattern" | "minimum" | "maximum":
            return _Fault(line, f"{place} is not within {rule} {limit}", about)
        case "type":
            return _Fault(line, f"{place} is not of type {limit}", about)
        case "not":
            text = f"{place} has no place in this file: its component is not among `components`"
            return _Fault(line, text)
        case "contains":
            held = limit.get("const") if isinstance(limit, dict) else limit
            return _Fault(line, f"{place} does not hold {held}", about)
        case _:
            return _Fault(line, f"{place} breaks the rule {rule} {_plain(limit)}".rstrip(), about)


def _rules(error: ValidationError) -> Mapping[str, dict[str, object]]:
    return error.schema if isinstance(error.schema, dict) else {}


def _meant(value: object, known: Sequence[object]) -> str:
    """The allowed word that ``value`` is nearly: one of the schema's own, so nothing of the file is told."""
    words = [word for word in known if isinstance(word, str)]
    close = get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f"Did you mean {close[0]}" if close else ""


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values)


def _plain(limit: object) -> str:
    return str(limit) if isinstance(limit, int | str) and not isinstance(limit, bool) else ""
