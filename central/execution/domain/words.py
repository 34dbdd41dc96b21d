"""What a reason means and what ends it, in words for the member and the operator (O1, E4, E5, S15). Pure.

Every reason a Run may wait for has its words, and so has every end central itself decides; a Site's own codes
speak for themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from central.execution.domain.progress import OUTPUT_OVERDUE, OUTPUT_UNCONFIRMED
from central.execution.domain.run import EndCause, WaitReason
from central.execution.domain.settling import SETTLED


@dataclass(frozen=True, slots=True)
class Words:
    """What is so, and who ends it how."""

    what: str
    remedy: str


WAITS: Final[Mapping[WaitReason, Words]] = MappingProxyType(
    {
        WaitReason.CONSENT_EXPIRED: Words(
            "The consent of who created the Run has ended, so no token can be got.",
            "Its creator signs in again and consents; the Run then goes on by itself.",
        ),
        WaitReason.SITE_MAINTENANCE: Words(
            "The Site takes no new work now.",
            "Wait until its maintenance is over; the Run then goes on by itself.",
        ),
        WaitReason.ACCOUNT_AWAITING_SITE: Words(
            "The Site does not confirm now exactly the account the Run was accepted for.",
            "Wait for the Site's next report, or ask its administrators; the Run fails after a while.",
        ),
        WaitReason.RESOURCE_SUSPENDED: Words(
            "The provider paused the allocation.",
            "Wait until it is resumed, or ask the provider.",
        ),
        WaitReason.AUTHORITY_REFUSED: Words(
            "Who created the Run may not continue it now.",
            "Ask who keeps the Project to give the permission back, or cancel the Run.",
        ),
        WaitReason.REPOSITORY_UNKNOWN: Words(
            "The Git host does not know the Run's repository.",
            "Check the repository's URL and have it made, or ask for a Run with the right URL.",
        ),
        WaitReason.REPOSITORY_REFUSED: Words(
            "The Git host gives no credential for the Run's repository.",
            "Ask who keeps the repository to let this platform's Runs into it.",
        ),
        WaitReason.OUTPUT_AWAITING_GIT: Words(
            "The Git host cannot be asked now whether it has the output.",
            "Wait until the host answers again; the Run fails after a while.",
        ),
    }
)
ENDS: Final[Mapping[str, Words]] = MappingProxyType(
    {
        EndCause.MEMBER_ASKED.value: Words("It was cancelled.", "Try it again if that was not meant."),
        EndCause.DEADLINE_PASSED.value: Words(
            "Its deadline passed.", "Ask for another Run with a later deadline."
        ),
        EndCause.ACCOUNT_UNCONFIRMED.value: Words(
            "The Site did not confirm the account in the time a Run waits for that.",
            "Try it again once the Site confirms the account.",
        ),
        SETTLED: Words(
            "Its end was asked for and the Site never answered; an operator saw that nothing of it is left.",
            "Try it again once the Site answers.",
        ),
        OUTPUT_OVERDUE: Words(
            "Nobody could ask the Git host for the output in the time a Run waits for that.",
            "Look at the Run's ref at the Git host yourself, or try the Run again.",
        ),
        OUTPUT_UNCONFIRMED: Words(
            "The Git host has not what the Site says it pushed.",
            "Try the Run again; if it repeats, ask the Site's administrators.",
        ),
    }
)
CLEANUP_REFUSED: Final = Words(
    "The Site did not clean up, so the member's account there is kept.",
    "A member with `run.cleanup` asks again, or an operator who looked at the Site settles it: "
    "`pharos-central runs settle`.",
)
CANCEL_REFUSED: Final = Words(
    "The Site did not take the cancel: its stage runs on to its own end.",
    "A member with `run.cancel` asks again; the administrator of the Site reads there why.",
)
SITE_SILENT: Final = Words(
    "The Run has to end and the Site has not said what became of its stage.",
    "If it never answers, an operator who looked at the Site settles it: `pharos-central runs settle`.",
)


def words_of(reason: str | None) -> Words | None:
    """The words of a Run's reason, None where it has none or a Site gave it."""
    if reason is None:
        return None
    known = {each.value: words for each, words in WAITS.items()}
    return known.get(reason) or ENDS.get(reason)
