"""Reads named fields of a decoded JSON object, strictly: every key asked for once, none left over, types
exact.
"""

import re
from typing import Final

_TEXT_LIMIT: Final = 4096


class ManifestError(ValueError):
    """The manifest is not what schema 1 says; the text names the place."""


class Fields:
    """The fields of one object at ``where``. Each reader raises ManifestError; ``finish`` refuses unread
    keys.
    """

    def __init__(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ManifestError(f"{where}: not an object")
        self.where = where
        self._value: dict[str, object] = value
        self._read: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the optional ``key`` is there."""
        return key in self._value

    def finish(self) -> None:
        """Refuse keys nobody read."""
        unknown = sorted(self._value.keys() - self._read)
        if unknown:
            raise ManifestError(f"{self.where}: unknown key {unknown[0][:40]!a}")

    def text(self, key: str) -> str:
        """Printable text, not empty, of at most 4096 characters."""
        value = self._take(key)
        if not isinstance(value, str):
            raise self._fault(key, "not text")
        return self.label(key, value)

    def label(self, key: str, value: object) -> str:
        """``value`` as printable, bounded text."""
        if not isinstance(value, str) or not 0 < len(value) <= _TEXT_LIMIT or not value.isprintable():
            raise self._fault(key, "not printable text")
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        """Text that is ``pattern`` from end to end (ASCII patterns only)."""
        value = self.text(key)
        if not value.isascii() or pattern.fullmatch(value) is None:
            raise self._fault(key, f"does not match {pattern.pattern}")
        return value

    def one_of(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of ``allowed``."""
        value = self.text(key)
        if value not in allowed:
            raise self._fault(key, f"not one of {', '.join(allowed)}")
        return value

    def boolean(self, key: str) -> bool:
        """true or false."""
        value = self._take(key)
        if not isinstance(value, bool):
            raise self._fault(key, "not true or false")
        return value

    def integer(self, key: str) -> int:
        """A whole number from 0 to 2^63-1; true is none."""
        return self._whole(key, self._take(key))

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, not empty, rising."""
        numbers = tuple(self._whole(key, item) for item in self._list(key))
        if not numbers or list(numbers) != sorted(set(numbers)):
            raise self._fault(key, "not a rising list of numbers")
        return numbers

    def texts(self, key: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """A list of different texts that match ``pattern``."""
        texts = tuple(self.label(key, item) for item in self._list(key))
        if len(set(texts)) != len(texts) or not all(
            text.isascii() and pattern.fullmatch(text) for text in texts
        ):
            raise self._fault(key, "not a list of different names")
        return texts

    def inner(self, key: str) -> "Fields":
        """The object under ``key``."""
        return Fields(f"{self.where}.{key}", self._take(key))

    def inner_list(self, key: str) -> list["Fields"]:
        """The list of objects under ``key``."""
        return [Fields(f"{self.where}.{key}[{index}]", item) for index, item in enumerate(self._list(key))]

    def mapping(self, key: str, pattern: re.Pattern[str]) -> list[tuple[str, object]]:
        """The pairs of the object under ``key``, whose keys match ``pattern``."""
        value = self._take(key)
        if not isinstance(value, dict):
            raise self._fault(key, "not an object")
        for name in value:
            if not name.isascii() or pattern.fullmatch(name) is None:
                raise self._fault(key, f"the name {name[:40]!a}")
        return list(value.items())

    def named(self, key: str, pattern: re.Pattern[str]) -> list[tuple[str, "Fields"]]:
        """Like ``mapping``, each value an object."""
        return [
            (name, Fields(f"{self.where}.{key}.{name}", value)) for name, value in self.mapping(key, pattern)
        ]

    def _take(self, key: str) -> object:
        if key not in self._value:
            raise self._fault(key, "missing")
        self._read.add(key)
        return self._value[key]

    def _list(self, key: str) -> list[object]:
        value = self._take(key)
        if not isinstance(value, list):
            raise self._fault(key, "not a list")
        return value

    def _whole(self, key: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._fault(key, "not a whole number")
        return value

    def _fault(self, key: str, reason: str) -> ManifestError:
        return ManifestError(f"{self.where}.{key}: {reason}")
