"""What becomes of a report that central did not take: one named rule a refusal (S8, X7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Act(StrEnum):
    """`keep`: the same bytes again later. `drop`: the next pass makes a newer one. `split`: in two."""

    KEEP = "keep"
    DROP = "drop"
    SPLIT = "split"


@dataclass(frozen=True, slots=True)
class Rule:
    """`fault`: somebody must look. `stop`: nothing else is sent for now, for it would fare the same."""

    act: Act
    fault: bool
    stop: bool = False


_BY_CODE = {
    # A later observation stands: this one has done its work, or the other reporter's has.
    "stale_report": Rule(Act.DROP, fault=False),
    # Two observations of one instant contradict each other: is there a second reporter?
    "conflicting_report": Rule(Act.DROP, fault=True),
    # The id was drawn twice, or the journal was put back: never send other bytes under it.
    "command_reused": Rule(Act.DROP, fault=True),
    # Central learns of the allocation with the next resource report.
    "allocation_unknown": Rule(Act.DROP, fault=False),
    "account_name_invalid": Rule(Act.DROP, fault=True),
    # Only new reads bear a time that has come.
    "observed_in_future": Rule(Act.DROP, fault=True, stop=True),
    "body_too_large": Rule(Act.SPLIT, fault=False),
}
# A credential, an address or a schema: the report is sound, the way is not.
_THE_FORM = {400, 422}
_THE_WAY = {401, 403, 404, 405, 406, 415}


def rule_of(status: int, code: str, *, several: bool = False) -> Rule:
    """The rule of a definite refusal. `several`: the report speaks of more than one thing, so what is wrong
    with the form of one is looked for by halves, and takes no other with it.
    """
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status == 413 or (several and status in _THE_FORM):
        return Rule(Act.SPLIT, fault=False)
    if status in _THE_WAY or 300 <= status < 400:
        return Rule(Act.KEEP, fault=True, stop=True)
    return Rule(Act.DROP, fault=True)
