"""What a message type alone guarantees: lets strict JSON skip the slow look at a body that fits its type."""

from collections.abc import Iterable
from functools import cache

import msgspec
from msgspec import inspect

_SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.UUIDType,
    inspect.EnumType,
    inspect.LiteralType,
)


def closed_depth(type_: object) -> int | None:
    """Return how many containers a value of ``type_`` can nest, None where its type does not bound that.

    Bounded is a ``Struct`` that forbids unknown fields and holds scalars, lists, mappings and such structs.
    """
    return _closed_depth(type_)


@cache
def _closed_depth(type_: object) -> int | None:
    try:
        return _depth(inspect.type_info(type_), ())
    except msgspec.MsgspecError:
        return None


def shows_every_key(type_: object) -> bool:
    """Whether a value of ``type_`` written again has each key of the body it was read from, once.

    So it is where no field of a struct may be left out: what a default or an optional tag adds could hide
    what a repeated key lost.
    """
    return _shows_every_key(type_)


@cache
def _shows_every_key(type_: object) -> bool:
    try:
        return _whole(inspect.type_info(type_))
    except msgspec.MsgspecError:
        return False


def _whole(info: inspect.Type) -> bool:
    if isinstance(info, inspect.Metadata):
        return _whole(info.type)
    if isinstance(info, inspect.UnionType):
        return all(map(_whole, info.types))
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return _whole(info.item_type)
    if isinstance(info, inspect.DictType):
        return _whole(info.value_type)
    if isinstance(info, inspect.StructType):
        whole = info.forbid_unknown_fields and info.tag is None and not info.array_like
        return whole and all(field.required and _whole(field.type) for field in info.fields)
    return isinstance(info, _SCALARS)


def _depth(info: inspect.Type, outer: tuple[type, ...]) -> int | None:
    if isinstance(info, inspect.Metadata):
        return _depth(info.type, outer)
    if isinstance(info, _SCALARS):
        return 0
    if isinstance(info, inspect.UnionType):
        return _deepest((_depth(one, outer) for one in info.types), 0)
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return _deepest([_depth(info.item_type, outer)], 1)
    if isinstance(info, inspect.DictType):
        return _deepest([_depth(info.value_type, outer)], 1)
    if isinstance(info, inspect.StructType) and info.forbid_unknown_fields and info.cls not in outer:
        return _deepest((_depth(field.type, (*outer, info.cls)) for field in info.fields), 1)
    return None


def _deepest(depths: Iterable[int | None], own: int) -> int | None:
    deepest = 0
    for depth in depths:
        if depth is None:
            return None
        deepest = max(deepest, depth)
    return own + deepest
