"""What a told revision of accepted work does to the one that is held (P27, P29).

1. Revision orders: the facts of the highest revision told stand.
2. A release is final, whatever was told before it or comes later, at whatever revision. So the order of
   arrival does not matter: work is released if it was ever told to be.
3. Work without evidence keeps no account and is not saved; its release still releases work that is held.
4. Two contents under one revision: one of them was never the owner's. The first stands until the owner's
   whole inventory, verified, says which.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from central.retention.domain.accepted_work import AcceptedWork, WorkState


class Effect(StrEnum):
    """What became of one told item."""

    SAVED = "saved"
    RELEASED = "released"
    SAME = "same"
    OLDER = "older"
    FINAL = "final"
    """A later revision of work that was released: noted, and still released."""
    CONFLICT = "conflict"
    CORRECTED = "corrected"
    """A verified inventory settled a conflict."""
    NOT_SAVED = "not_saved"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`after` is what is held from now on; None if nothing is."""

    effect: Effect
    after: AcceptedWork | None


def judge(held: AcceptedWork | None, told: AcceptedWork, *, verified: bool = False) -> Judgement:
    """What `told` does to `held`, which is None if nothing of the item is saved.

    `verified`: it was read in the owner's whole inventory (rule 4).
    """
    if held is None:
        return Judgement(Effect.NOT_SAVED, None) if told.evidence is None else _first(told)
    if told.evidence is None:
        return _without_evidence(held, told)
    equal = told.revision == held.revision
    differs = equal and replace(told, state=held.state) != held
    newest = told if told.revision > held.revision or (equal and verified) else held
    ended = held.released or told.released
    after = replace(newest, state=WorkState.RELEASED) if ended else newest
    if differs:
        return Judgement(Effect.CORRECTED if verified else Effect.CONFLICT, after)
    if after.released and not held.released:
        return Judgement(Effect.RELEASED, after)
    if equal:
        return Judgement(Effect.SAME, after)
    if told.revision < held.revision:
        return Judgement(Effect.OLDER, after)
    return Judgement(Effect.FINAL if held.released else Effect.SAVED, after)


def _first(told: AcceptedWork) -> Judgement:
    return Judgement(Effect.RELEASED if told.released else Effect.SAVED, told)


def _without_evidence(held: AcceptedWork, told: AcceptedWork) -> Judgement:
    if told.released and not held.released:
        return Judgement(Effect.RELEASED, replace(held, state=WorkState.RELEASED))
    return Judgement(Effect.NOT_SAVED, held)
