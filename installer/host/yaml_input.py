"""Reads the hand-off's YAML files strictly (I3, I4, H22, rows 17, 18, 38): nothing is guessed, nothing is
quoted.

1. Opened without following links, owned by root, writable by nobody else (``installer.bootstrap.inputs``).
2. One document of plain mappings, lists, texts, whole numbers, true and false: no anchors, aliases, tags,
   merges,
   duplicate keys, dates or YAML 1.1 booleans (``no`` is text).
3. A secret written into the file is refused by the place where it stands; its value is in no message (X5).
4. The JSON Schema of the kind of file, then the domain's own rules.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from installer.bootstrap.inputs import Trust, read_input
from installer.domain.limits import Limits
from installer.domain.refusal import USAGE, Refusal
from installer.host.schema_words import Place, line_numbers, words_of

_SECRET_KEY = re.compile(r"(token|passw|secret|private_?key|api_?key|bearer|passphrase)", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"(phs1_[0-9a-f]{32}_|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[A-Za-z0-9_-]{8,}\."
    r"|://[^/@\s]*:[^/@\s]*@|\bBearer\s+\S{8,})"
)
_INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_END = re.compile(r"(?<!\\)\$")
_DEPTH = 8
_NODES = 5_000


class _InputError(ValueError):
    """What is wrong, with its place; no value."""


def read_yaml(path: Path, *, what: str, schema: str, trust: Trust, limits: Limits) -> Mapping[str, object]:
    """The checked document of a YAML file; ``schema`` names a file of ``installer/schemas``.

    Raises Refusal: those of reading an input, ``yaml_invalid``, ``inline_secret``, ``schema_mismatch``.
    """
    data = read_input(path, what=what, trust=trust, size_limit=limits.input_size)
    return check_yaml(data, what=f"{what} {path}", schema=schema)


def check_yaml(data: bytes, *, what: str, schema: str) -> Mapping[str, object]:
    """The checked document in ``data``. Raises Refusal as ``read_yaml`` does."""
    try:
        node = _compose(data.decode("utf-8"))
        document = _plain(node, "$")
        if not isinstance(document, dict):
            raise _InputError("no mapping at its top")
    except UnicodeDecodeError as error:
        raise _refusal("yaml_invalid", what, f"not UTF-8 at byte {error.start}") from error
    except _InputError as error:
        raise _refusal("yaml_invalid", what, str(error)) from error
    secret = next(_secrets(document, "$"), None)
    if secret is not None:
        raise Refusal(
            "inline_secret",
            found=f"{what}: something that looks like a secret at {secret}",
            wanted="no secret in a configuration file",
            remedy="Put it into its own file in the credential folder, and have it replaced: it was exposed.",
            exit_code=USAGE,
        )
    _check_schema(document, line_numbers(node), what, schema)
    return document


def load_schema(name: str) -> dict[str, object]:
    """The JSON Schema ``name`` as it is shipped with the installer."""
    document: dict[str, object] = json.loads(files("installer.schemas").joinpath(name).read_text("utf-8"))
    return document


def _compose(text: str) -> Node:
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
                raise _InputError(f"an anchor or alias at line {_line(event.start_mark)}")
            if getattr(event, "tag", None) is not None:
                raise _InputError(f"a tag at line {_line(event.start_mark)}")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = _line(error.problem_mark)
        raise _InputError(f"not YAML at line {line}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _InputError("not YAML, or with characters it does not allow") from error
    if node is None:
        raise _InputError("empty")
    return node


def _plain(node: Node, where: str, depth: int = 0) -> object:
    if depth > _DEPTH:
        raise _InputError(f"nested deeper than {_DEPTH} at line {_line(node.start_mark)}")
    if isinstance(node, SequenceNode):
        if len(node.value) > _NODES:
            raise _InputError(f"more than {_NODES} items at {where}")
        return [_plain(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(node.value)]
    if isinstance(node, MappingNode):
        result: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = _line(key_node.start_mark)
            if not isinstance(key_node, ScalarNode) or key_node.value == "<<":
                raise _InputError(f"a key that is no plain text at line {line}")
            key = str(key_node.value)
            if key in result:
                raise _InputError(f"a key twice at line {line}")
            result[key] = _plain(value_node, f"{where}.{key}", depth + 1)
        return result
    return _scalar(node)


def _scalar(node: Node) -> object:
    text = str(node.value)
    if "\0" in text:
        raise _InputError(f"a NUL at line {_line(node.start_mark)}")
    if getattr(node, "style", None) is not None:
        return text
    if text in {"", "~", "null"}:
        return None
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if _INT.fullmatch(text) else text


def _secrets(value: object, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if _SECRET_KEY.search(key) and not isinstance(item, dict | list):
                yield f"{where}.{key}"
            yield from _secrets(item, f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secrets(item, f"{where}[{index}]")
    elif isinstance(value, str) and _SECRET_VALUE.search(value):
        yield where


def _pattern(_: object, pattern: str, instance: object, __: object) -> Iterator[ValidationError]:
    """As ECMA 262 has it, which the schema's standard names: digits are ASCII alone, ``$`` is the very end,
    not the place before a last line end (D13, E21).
    """
    if isinstance(instance, str) and not re.search(_END.sub(r"\\Z", pattern), instance, re.ASCII):
        yield ValidationError("does not match the pattern")


_VALIDATOR: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def _check_schema(document: dict[str, object], lines: Mapping[Place, int], what: str, schema: str) -> None:
    errors = list(_VALIDATOR(load_schema(schema)).iter_errors(document))
    if errors:
        words = words_of(errors, lines, schema=schema)
        raise Refusal(
            "schema_mismatch",
            found=f"{what}: {words.found}",
            wanted=words.wanted,
            remedy=words.remedy,
            exit_code=USAGE,
        )


def _line(mark: object) -> int:
    return int(getattr(mark, "line", 0)) + 1


def _refusal(code: str, what: str, found: str) -> Refusal:
    return Refusal(
        code,
        found=f"{what}: {found}",
        wanted="one plain YAML mapping: no anchors, tags, dates or keys given twice",
        remedy="Correct the file; profiles/README.md shows whole examples.",
        exit_code=USAGE,
    )
