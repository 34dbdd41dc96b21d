"""JSON documents as frozen dataclasses: the annotations are the schema, read exactly, written in their order.

A member's name is the field's in camel case, or what `Named` says; a field with a default may be absent; a
member no field names is refused unless the class is `Open`. What a field may be annotated with:

* `int`, `str`, `bool`, `float`, `UUID`, `datetime` (RFC 3339, X2), `Any` (as parsed), another such dataclass;
* `X | None`, `Literal[…]`, `tuple[X, ...]`, `list[X]`, `dict[str, X]`;
* `Annotated[…]` with `Between` (numbers), `Length` (characters, items, members), `Matching` (a whole text).

Nothing is converted: `1.0`, `"1"` and `true` are no integers (docs/wire.md). A class's reader is made on
first use. A library would cost the process 1.7 MB for its whole life (S10, docs/adr/0002-dependencies.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from site_bundle.kernel.times import parse_time, render_time

T = TypeVar("T")
Reader = Callable[[Any], Any]

_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_WORD = re.compile(r"_([a-z0-9])")


@dataclass(frozen=True, slots=True)
class Named:
    """The member's name where it is not the field's in camel case."""

    name: str


@dataclass(frozen=True, slots=True)
class Between:
    """A number low…high."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Length:
    """So many characters of a text, items of a list, or members of a map."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Matching:
    """A text that is `pattern` from its first to its last character."""

    pattern: str


class Open:
    """Base of a body of others' making: a member it does not name is ignored."""

    __slots__ = ()


class ShapeError(ValueError):
    """A value is not what the schema wants. The text names the place and the rule, never the content."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.place = ""

    def __str__(self) -> str:
        return f"{self.place.lstrip('.')}: {self.wanted}" if self.place else self.wanted

    def inside(self, part: str) -> ShapeError:
        """The same, seen from one level further out."""
        self.place = part + self.place
        return self


def read_document(value: object, shape: type[T]) -> T:
    """`value` (parsed JSON) as the dataclass `shape`. ShapeError."""
    return cast(T, _document(cast(type, shape))(value))


def write_document(document: object) -> bytes:
    """The dataclass `document` as compact JSON, its members in the order of the fields: equal documents give
    equal bytes. An absent default is written too.
    """
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


_AS_THEY_ARE = frozenset({str, int, bool, float, NoneType})  # most of a document


def _plain(value: object) -> object:
    if type(value) in _AS_THEY_ARE:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, field)) for field, name, _, _ in _members(type(value))}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, UUID):
        return str(value)
    return render_time(value) if isinstance(value, datetime) else value


@cache
def _members(shape: type) -> tuple[tuple[str, str, Reader, bool], ...]:
    """Field, member, reader, and whether it must be there; for each field of `shape`."""
    hints = get_type_hints(shape, include_extras=True)
    found = []
    for field in fields(shape):
        hint = hints[field.name]
        named = [mark.name for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Named)]
        name = named[0] if named else _WORD.sub(lambda match: match[1].upper(), field.name)
        needed = field.default is MISSING and field.default_factory is MISSING
        found.append((field.name, name, _reader(hint), needed))
    return tuple(found)


@cache
def _document(shape: type) -> Reader:
    members = _members(shape)
    names = frozenset(name for _, name, _, _ in members)
    is_open = issubclass(shape, Open)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise ShapeError("an object is wanted")
        if not is_open and not names.issuperset(value):
            raise ShapeError("a member the schema does not name")
        given = {}
        for field, name, reader, needed in members:
            if name in value:
                try:
                    given[field] = reader(value[name])
                except ShapeError as error:
                    raise error.inside(f".{name}") from None
            elif needed:
                raise ShapeError("is missing").inside(f".{name}")
        return shape(**given)

    return read


def _reader(hint: Any) -> Reader:
    """The reader of one annotation. TypeError for an annotation the module does not know: a bug."""
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, marks = hint.__origin__, hint.__metadata__
    made = _bare(hint)
    for mark in marks:
        made = _narrowed(made, mark)
    return made


def _bare(hint: Any) -> Reader:
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return partial(_one_of, frozenset((type(option), option) for option in parts))
    if origin in {Union, UnionType} and len(parts) == 2 and NoneType in parts:
        return partial(_optional, _reader(parts[0] if parts[1] is NoneType else parts[1]))
    if origin is list or (origin is tuple and parts[1:] == (...,)):
        return partial(_items, origin, _reader(parts[0]))
    if origin is dict and parts[0] is str:
        return partial(_mapping, _reader(parts[1]))
    if is_dataclass(hint) and isinstance(hint, type):
        return _document(hint)
    raise TypeError(f"no document field can be {hint!r}")


def _narrowed(reader: Reader, mark: object) -> Reader:
    match mark:
        case Between(low, high):
            return partial(_between, reader, low, high)
        case Length(low, high):
            return partial(_length, reader, low, high)
        case Matching(pattern):
            return partial(_matching, reader, re.compile(pattern))
        case Named():
            return reader
    raise TypeError(f"no document field can be marked {mark!r}")


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ShapeError("an integer is wanted")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ShapeError("a text is wanted")
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ShapeError("true or false is wanted")
    return value


def _number(value: Any) -> float:
    if type(value) not in {int, float}:
        raise ShapeError("a number is wanted")
    return float(value)


def _uuid(value: Any) -> UUID:
    if type(value) is not str or not _UUID.fullmatch(value):
        raise ShapeError("a UUID with dashes is wanted")
    return UUID(value)


def _time(value: Any) -> datetime:
    try:
        return parse_time(_text(value))
    except ValueError as error:
        raise ShapeError("an RFC 3339 time with a zone is wanted") from error


def _one_of(options: frozenset[tuple[type, object]], value: Any) -> Any:
    if type(value) not in {int, str, bool, NoneType} or (type(value), value) not in options:
        raise ShapeError("a value the schema does not name")
    return value


def _optional(reader: Reader, value: Any) -> Any:
    return None if value is None else reader(value)


def _items(make: type, reader: Reader, value: Any) -> Any:
    if type(value) is not list:
        raise ShapeError("a list is wanted")
    items: list[Any] = []
    try:
        for item in value:
            items.append(reader(item))
    except ShapeError as error:
        raise error.inside(f"[{len(items)}]") from None
    return make(items)


def _mapping(reader: Reader, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ShapeError("an object is wanted")
    try:
        return {name: reader(item) for name, item in value.items()}
    except ShapeError as error:
        raise error.inside("{}") from None


def _between(reader: Reader, low: int, high: int, value: Any) -> Any:
    read = reader(value)
    if read is not None and not low <= read <= high:
        raise ShapeError(f"{low}…{high} is wanted")
    return read


def _length(reader: Reader, low: int, high: int, value: Any) -> Any:
    if value is not None and (type(value) not in {str, list, dict} or not low <= len(value) <= high):
        raise ShapeError(f"a length of {low}…{high} is wanted")
    return reader(value)


def _matching(reader: Reader, pattern: re.Pattern[str], value: Any) -> Any:
    if type(value) is str and not pattern.fullmatch(value):
        raise ShapeError(f"a text of the form {pattern.pattern} is wanted")
    return reader(value)


_SCALARS: dict[Any, Reader] = {
    int: _integer,
    str: _text,
    bool: _boolean,
    float: _number,
    UUID: _uuid,
    datetime: _time,
    Any: lambda value: value,
}
