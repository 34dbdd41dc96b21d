"""Refusals of the view's routes."""

from collections.abc import Mapping
from typing import Final

from central.kernel.problems import ProblemSpec, problem_table

MEMBER_UNKNOWN: Final = ProblemSpec(
    "member_unknown",
    404,
    "No such member",
    "Proven: nobody holds the username at this Site, or who does never was a member of the Project, or the "
    "Project has no allocation here.",
    "Nothing: what cannot be known is 503, never this.",
)

PROJECT_UNKNOWN: Final = ProblemSpec(
    "project_unknown",
    404,
    "No such Project",
    "Proven: no Project of Beto's with an allocation at this Site holds the provider's Project.",
    "Nothing: what cannot be known is 503, never this.",
)

PROBLEMS: Final[Mapping[str, ProblemSpec]] = problem_table(MEMBER_UNKNOWN, PROJECT_UNKNOWN)
