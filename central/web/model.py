"""The page as values: parts with one table each, or with why they cannot be read. No rule stands in a
template, and none about what is known stands here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How far what is shown may be believed."""

    FRESH = "fresh"
    STALE = "stale"
    NEVER = "never"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `at`: the instant its words tell of; `href`: a page of ours; `note`: a second line; `exact`:
    the machine's value of the words, for a title.
    """

    text: str
    at: str | None = None
    href: str | None = None
    standing: Standing | None = None
    note: str | None = None
    exact: str | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link to a page of ours."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption; the first cell of each row names the row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str
    more: Anchor | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A titled part of a section: its table, or why it cannot be read. `ident` is its anchor."""

    ident: str
    title: str
    table: Table | None
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Parts that belong together."""

    ident: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `read_at` is RFC 3339, when everything on it was looked at; `up` leads back."""

    title: str
    sections: Sequence[Section]
    read_at: str
    up: Anchor | None = None

    @property
    def unreadable(self) -> int:
        """How many parts could not be read."""
        return sum(part.unreadable is not None for section in self.sections for part in section.parts)

    @property
    def status(self) -> int:
        """503 where nothing at all could be read, otherwise 200."""
        parts = [part for section in self.sections for part in section.parts]
        return 503 if parts and self.unreadable == len(parts) else 200
