"""Refusals of Runs and of a Site's words about its commands (docs/wire.md)."""

from collections.abc import Mapping
from typing import Final

from central.execution.domain.planning import PlanRefusal
from central.execution.domain.progress import Refusal
from central.kernel.problems import ProblemSpec, problem_table
from central.kernel.shared_problems import ALLOCATION_UNKNOWN

_STEPS: Final = {
    Refusal.COMMAND_UNKNOWN: ProblemSpec(
        "command_unknown",
        404,
        "No such command",
        "The path names no command of this Site.",
        "List the commands and use an id from there.",
    ),
    Refusal.COMMAND_ACKNOWLEDGED: ProblemSpec(
        "command_acknowledged",
        409,
        "The command is acknowledged",
        "Another acknowledgement or result is recorded, or a token is asked for what needs none any more.",
        "Go on from what is recorded; ask no token for it.",
    ),
    Refusal.COMMAND_NOT_ACKNOWLEDGED: ProblemSpec(
        "command_not_acknowledged",
        409,
        "The command is not acknowledged",
        "A result came before the acknowledgement of its command.",
        "Acknowledge the command, then send the result again.",
    ),
    Refusal.RUN_ENDED: ProblemSpec(
        "run_ended", 409, "The Run has ended", "Nothing is left to cancel.", "Start another Run."
    ),
    Refusal.RUN_COMPLETED: ProblemSpec(
        "run_completed",
        409,
        "The Run is completed",
        "Its output stands; there is nothing to try again.",
        "Start another Run.",
    ),
    Refusal.ATTEMPT_UNSETTLED: ProblemSpec(
        "attempt_unsettled",
        409,
        "The attempt is not settled",
        "The Run has not ended, or its cleanup is not done: something of it may still be at the Site (S1).",
        "Wait for the end and the cleanup; have a refused cleanup asked for again.",
    ),
    Refusal.ATTEMPT_LIMIT: ProblemSpec(
        "attempt_limit",
        409,
        "Too many attempts",
        "A Run has ten attempts at most.",
        "Start another Run.",
    ),
    Refusal.CLEANUP_NOT_REFUSED: ProblemSpec(
        "cleanup_not_refused",
        409,
        "Nothing was refused",
        "There is no cleanup yet, or the Site is still asked.",
        "Wait for the Site; only a refused cleanup is asked for again.",
    ),
    Refusal.CLEANUP_SETTLED: ProblemSpec(
        "cleanup_settled",
        409,
        "The cleanup is over",
        "The Site cleaned up, or an operator settled it.",
        "Nothing is left to do.",
    ),
    Refusal.SITE_AWAITED: ProblemSpec(
        "site_awaited",
        409,
        "The Site is still awaited",
        "The Run's end was asked for too short a time ago for an operator's word to stand for the Site's.",
        "Wait for the Site, or settle the Run after `PHAROS_EXECUTION_SILENCE_SECONDS` without a word of it.",
    ),
}
_PLANS: Final = {
    PlanRefusal.ALLOCATION_UNKNOWN: ALLOCATION_UNKNOWN,
    PlanRefusal.ALLOCATION_AMBIGUOUS: ProblemSpec(
        "allocation_ambiguous",
        422,
        "Several allocations fit",
        "`allocationId` is null and the Project has several allocations there.",
        "Name one by its `allocationId`.",
    ),
    PlanRefusal.EPHEMERAL_STORAGE_REFUSED: ProblemSpec(
        "ephemeral_storage_refused",
        422,
        "Ephemeral storage is not granted",
        "A Slurm Site has none to grant (P31).",
        "Leave `ephemeral_storage` out.",
    ),
    PlanRefusal.LIMITS_EXCEEDED: ProblemSpec(
        "limits_exceeded",
        422,
        "More than the limits in force",
        "A component asked for exceeds what is applied to the allocation; the detail names it.",
        "Ask for less, or have the allocation enlarged.",
    ),
    PlanRefusal.DEADLINE_PASSED: ProblemSpec(
        "deadline_passed",
        422,
        "The deadline has passed",
        "`deadline` is not in the future.",
        "Set a later one.",
    ),
    PlanRefusal.RESOURCE_SUSPENDED: ProblemSpec(
        "resource_suspended",
        409,
        "The allocation is paused",
        "The provider paused it within the last 15 minutes.",
        "Wait until it is resumed, or ask the provider.",
    ),
    PlanRefusal.RESOURCE_NOT_READY: ProblemSpec(
        "resource_not_ready",
        503,
        "The allocation is not ready",
        "It is not ready, or was not observed within 15 minutes.",
        "Try again after the Site's next report.",
    ),
}
STEP_REFUSED: Final[Mapping[Refusal, ProblemSpec]] = _STEPS
PLAN_REFUSED: Final[Mapping[PlanRefusal, ProblemSpec]] = _PLANS

ATTEMPT_MISMATCH: Final = ProblemSpec(
    "attempt_mismatch",
    409,
    "Another Attempt",
    "The body names another Attempt than the command's.",
    "Name the Attempt the command was listed with.",
)
CONSENT_EXPIRED: Final = ProblemSpec(
    "consent_expired",
    409,
    "The member's consent has ended",
    "The offline consent the token comes from has ended; the Run waits and says so (E5).",
    "Keep the command and ask again later: the member renews the consent by signing in.",
)
CONSENT_REFUSED: Final = ProblemSpec(
    "consent_refused",
    422,
    "The issuer refuses the code",
    "The code was used before, is too old, or belongs to another verifier or address (RFC 7636).",
    "Sign in again with offline access and send the new code at once.",
)
CONSENT_OF_ANOTHER: Final = ProblemSpec(
    "consent_of_another",
    403,
    "Somebody else's consent",
    "The code was given by another member than the bearer of this request.",
    "Sign in as the member whose consent it is to be.",
)
AUTHORITY_REFUSED: Final = ProblemSpec(
    "authority_refused",
    403,
    "The acting member may not do this now",
    "Beto decided that the member may not continue this Run (E7).",
    "Keep the command and ask again later; what runs, runs on.",
)
SITE_NOT_QUALIFIED: Final = ProblemSpec(
    "site_not_qualified",
    409,
    "Execution is paused for this Site",
    "The Site does not report itself yet, or was not qualified (P36).",
    "Ask the platform's team when it opens.",
)
ACCOUNT_AMBIGUOUS: Final = ProblemSpec(
    "account_ambiguous",
    409,
    "Several accounts fit",
    "The member has several confirmed accounts at the Site.",
    "Name one allocation by its `allocationId`.",
)
ACCOUNT_CHANGED: Final = ProblemSpec(
    "account_changed",
    409,
    "Another account",
    "The Site's account, or the Project's management, is another than the Run was accepted for (E1).",
    "Start another Run: it takes the present account.",
)
RUN_UNKNOWN: Final = ProblemSpec(
    "run_unknown",
    404,
    "No such Run",
    "This Project has no Run of this id.",
    "List the Project's Runs and use an id from there.",
)

PROBLEMS: Final[Mapping[str, ProblemSpec]] = problem_table(
    *_STEPS.values(),
    *(spec for spec in _PLANS.values() if spec is not ALLOCATION_UNKNOWN),
    ATTEMPT_MISMATCH,
    CONSENT_EXPIRED,
    CONSENT_REFUSED,
    CONSENT_OF_ANOTHER,
    AUTHORITY_REFUSED,
    SITE_NOT_QUALIFIED,
    ACCOUNT_AMBIGUOUS,
    ACCOUNT_CHANGED,
    RUN_UNKNOWN,
)
