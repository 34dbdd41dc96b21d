"""What one complete set of accounts makes of the saved one (P21): a pure function, the whole rule.

In this order, the first that holds:

1. Observed further ahead of our clock than is accepted: refused, `observed_in_future`.
2. The Site has no such allocation: refused, `allocation_unknown`.
3. No set was saved yet: `recorded`.
4. Older than the saved set: refused, `stale_report`.
5. Equal time: the same content is `unchanged`, other content is refused, `conflicting_report`.
6. Newer: the same content is `unchanged` and renews the time, other content is `recorded`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from central.kernel.times import AHEAD_MAX
from central.provisioning.domain.observation import Content


class AccountsOutcome(StrEnum):
    """What a report that counts was told."""

    RECORDED = "recorded"
    UNCHANGED = "unchanged"


class AccountsRefusal(StrEnum):
    """Why a set was refused whole; the values are the wire's codes. The last two are said only of one set
    among several: alone, it is refused before it is judged, or its state is `CorruptState`.
    """

    ALLOCATION_UNKNOWN = "allocation_unknown"
    STALE_REPORT = "stale_report"
    CONFLICTING_REPORT = "conflicting_report"
    OBSERVED_IN_FUTURE = "observed_in_future"
    ACCOUNT_NAME_INVALID = "account_name_invalid"
    STATE_CORRUPT = "state_corrupt"


Told = AccountsOutcome | AccountsRefusal
"""What became of a set."""


@dataclass(frozen=True, slots=True)
class SavedSet:
    """The set that stands: how often it was replaced, what it said, when the Site last looked."""

    version: int
    content: Content
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Judged:
    """A report that counts. `replaces`: its set takes the saved one's place; `renews`: its time does."""

    outcome: AccountsOutcome
    replaces: bool
    renews: bool


def ahead_refusal(observed_at: datetime, now: datetime) -> AccountsRefusal | None:
    """Rule 1: a time that far ahead would block later, true reports (E13)."""
    return AccountsRefusal.OBSERVED_IN_FUTURE if observed_at - now > AHEAD_MAX else None


def judge(
    saved: SavedSet | None, observed_at: datetime, content: Content, *, allocation_known: bool
) -> Judged | AccountsRefusal:
    """Rules 2 to 6."""
    if not allocation_known:
        return AccountsRefusal.ALLOCATION_UNKNOWN
    if saved is None:
        return Judged(AccountsOutcome.RECORDED, replaces=True, renews=True)
    if observed_at < saved.observed_at:
        return AccountsRefusal.STALE_REPORT
    same = content == saved.content
    if observed_at == saved.observed_at:
        if not same:
            return AccountsRefusal.CONFLICTING_REPORT
        return Judged(AccountsOutcome.UNCHANGED, replaces=False, renews=False)
    outcome = AccountsOutcome.UNCHANGED if same else AccountsOutcome.RECORDED
    return Judged(outcome, replaces=not same, renews=True)
