"""Which Project a provider Project is (P3, P13): exactly one viewed Project holds it, open or closed."""

from collections.abc import Collection
from enum import StrEnum

from central.projects.domain.ids import ProjectId


class Unresolved(StrEnum):
    """Proven: not exactly one Project holds it."""

    UNBOUND = "unbound"
    AMBIGUOUS = "ambiguous"


Resolution = ProjectId | Unresolved


def resolve(holders: Collection[ProjectId]) -> Resolution:
    """The Project among the distinct viewed ones that hold the provider Project."""
    distinct = set(holders)
    if len(distinct) == 1:
        return distinct.pop()
    return Unresolved.AMBIGUOUS if distinct else Unresolved.UNBOUND
