"""Refusals of a Site's account reports (docs/wire.md, "Site intake")."""

from collections.abc import Mapping
from typing import Final

from central.kernel.problems import ProblemSpec, problem_table

ACCOUNT_NAME_INVALID: Final = ProblemSpec(
    "account_name_invalid",
    422,
    "An account's name is refused",
    "A Kubernetes Site names an account `member-<partyId>`, any other Site by a POSIX login name (P22).",
    "Report the name the account really has; an account of another name is not ours to confirm.",
)
STALE_REPORT: Final = ProblemSpec(
    "stale_report",
    409,
    "The report is older than the saved one",
    "A later observation of the same allocation was saved already; nothing was changed.",
    "Drop this report and send the next observation.",
)
CONFLICTING_REPORT: Final = ProblemSpec(
    "conflicting_report",
    409,
    "Two reports of one time differ",
    "A report of exactly this time with other content was saved already; nothing was changed.",
    "Observe again and report that, with its own time.",
)

PROBLEMS: Final[Mapping[str, ProblemSpec]] = problem_table(
    ACCOUNT_NAME_INVALID, STALE_REPORT, CONFLICTING_REPORT
)
