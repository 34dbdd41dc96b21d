"""Array parameters in PostgreSQL's binary form, made without a value each.

A thousand UUIDs as text cost the server more to read than to look up. The form is that of `array_send`: the
number of dimensions, whether there are NULLs, the element's type, length and lower bound of the dimension,
then each element after its length (PostgreSQL, src/backend/utils/adt/arrayfuncs.c).
"""

from collections.abc import Iterable, Sequence
from struct import Struct, pack
from typing import Final
from uuid import UUID

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEAD: Final = Struct(">iiIii")
_INTEGER_OID: Final = 23
_INTEGERS_OID: Final = 1007
_UUID_OID: Final = 2950
_UUIDS_OID: Final = 2951
_SIZE: Final = b"\x00\x00\x00\x10"
_NULL: Final = b"\xff\xff\xff\xff"
_DIGITS: Final = 32
_LENGTHS: Final = {_DIGITS, _DIGITS + 4}


class UuidArray(bytes):
    """The binary form of a `uuid[]`."""

    __slots__ = ()


class IntegerArray(bytes):
    """The binary form of an `integer[]`."""

    __slots__ = ()


def uuid_array(values: Iterable[UUID | None]) -> UuidArray:
    """The array of these UUIDs; None is NULL."""
    each = [_NULL if value is None else _SIZE + value.bytes for value in values]
    return UuidArray(_head(_UUID_OID, len(each), _NULL in each) + b"".join(each))


def uuid_text_array(texts: Iterable[str]) -> UuidArray:
    """The array of UUIDs as 32 hexadecimal digits each, with four dashes among them or without.

    Raises `ValueError` for any other text.
    """
    given = list(texts)
    if not given:
        return UuidArray(_head(_UUID_OID, 0))
    each = "\n".join(given).replace("-", "").split("\n")
    size = _SIZE.hex()
    elements = bytes.fromhex(size + size.join(each))
    digits = len(elements) == 20 * len(given) and set(map(len, each)) == {_DIGITS}
    if not digits or not _LENGTHS.issuperset(map(len, given)):
        raise ValueError("a UUID has 32 hexadecimal digits")
    return UuidArray(_head(_UUID_OID, len(given)) + elements)


def integer_array(values: Sequence[int]) -> IntegerArray:
    """The array of these numbers of 32 bits. Raises `struct.error` for a larger one."""
    each = [4] * (2 * len(values))
    each[1::2] = values
    return IntegerArray(_head(_INTEGER_OID, len(values)) + pack(f">{len(each)}i", *each))


def _head(oid: int, length: int, nulls: bool = False) -> bytes:
    return _HEAD.pack(1, nulls, oid, length, 1)


class _UuidDumper(Dumper):
    format = Format.BINARY
    oid = _UUIDS_OID

    def dump(self, obj: UuidArray) -> Buffer:
        return obj


class _IntegerDumper(Dumper):
    format = Format.BINARY
    oid = _INTEGERS_OID

    def dump(self, obj: IntegerArray) -> Buffer:
        return obj


def register(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Lets a connection take such parameters."""
    connection.adapters.register_dumper(UuidArray, _UuidDumper)
    connection.adapters.register_dumper(IntegerArray, _IntegerDumper)
