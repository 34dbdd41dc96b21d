"""Refusals of the retained list."""

from collections.abc import Mapping
from typing import Final

from central.kernel.problems import ProblemSpec, problem_table

RECOVERY_PENDING: Final = ProblemSpec(
    "recovery_pending",
    503,
    "No complete list stands",
    "No complete recovery pass over the owners of accepted work stands: none since a worker started, one is "
    "running, or the last one failed; a list now could lack accounts (P28).",
    "Keep every account and ask again; if it goes on, look at the worker's `recovery_pass` lines.",
)

PROBLEMS: Final[Mapping[str, ProblemSpec]] = problem_table(RECOVERY_PENDING)
