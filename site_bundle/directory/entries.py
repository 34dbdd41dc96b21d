"""What a search gives: entries with raw values under lower-case attribute names (B13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawEntry:
    """`dn` exactly as the server wrote it; values are the stored bytes."""

    dn: str
    attributes: Mapping[str, tuple[bytes, ...]]

    def values(self, name: str) -> tuple[bytes, ...]:
        """Values of `name` in any case and without options; empty when the entry shows none."""
        return self.attributes.get(name.lower(), ())

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(value.decode("utf-8", "replace") for value in self.values(name))
