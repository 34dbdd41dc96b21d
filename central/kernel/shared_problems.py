"""Refusals that several contexts answer alike; each code is said once."""

from collections.abc import Mapping
from typing import Final

from central.kernel.problems import ProblemSpec, problem_table

SITE_UNKNOWN: Final = ProblemSpec(
    "site_unknown",
    422,
    "No such Site",
    "The platform knows no Site of this name.",
    "Use a Site's environment name, such as slurm.",
)
ACCOUNT_ABSENT: Final = ProblemSpec(
    "account_absent",
    409,
    "No account at this Site yet",
    "The Site's complete report holds no account of the member.",
    "Wait until the Site has made the account, then ask again.",
)
ALLOCATION_UNKNOWN: Final = ProblemSpec(
    "allocation_unknown",
    422,
    "No such allocation here",
    "No allocation of this id was ever reported by this Site, or none of this Project fits there.",
    "A Site reports its resources first and uses the `allocationId` it was answered; a member names one of "
    "the Project's allocations at that Site.",
)
FEED_POSITION_UNKNOWN: Final = ProblemSpec(
    "feed_position_unknown",
    409,
    "The feed does not go that far",
    "`after` is above the feed's last sequence: central was restored to an earlier time.",
    "Remove nothing; read from `after=0` and see the agent's `accept-feed`.",
)

ACCOUNT_AWAITING_SITE: Final = ProblemSpec(
    "account_awaiting_site",
    503,
    "The account waits for the Site",
    "The Site has not confirmed the member's account, or not lately; the detail says which (P24, P26).",
    "Wait for the Site's next report; if it goes on, ask the Site's administrator.",
)

PROBLEMS: Final[Mapping[str, ProblemSpec]] = problem_table(
    SITE_UNKNOWN, ACCOUNT_ABSENT, ACCOUNT_AWAITING_SITE, ALLOCATION_UNKNOWN, FEED_POSITION_UNKNOWN
)
