"""A range of numbers, as a site's profile fixes one for members' UIDs and groups' GIDs (I9). Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Whole numbers low…high, both ends included."""

    low: int
    high: int

    def __contains__(self, number: int) -> bool:
        return self.low <= number <= self.high
