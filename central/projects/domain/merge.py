"""Beto's verified snapshot joined with what messages told while it was being read (P14).

1. The snapshot is Beto's truth of a moment after the pass began.
2. What a message told since then (`epoch` of the pass or later) and is newer, stays.
3. Everything else becomes what the snapshot says; what it does not hold and no message told since then, is
   dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic
from uuid import UUID

from central.projects.domain.revisions import Effect, T, Told, judge


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """What the view holds of one id, and in which epoch it was learned."""

    told: Told[T]
    epoch: int


@dataclass(frozen=True, slots=True)
class Merged(Generic[T]):
    """What has to be written: `put` replaces, `drop` goes. `kept_newer` were told since."""

    put: Sequence[T]
    drop: Sequence[UUID]
    kept_newer: int


def merge(snapshot: Sequence[T], held: Mapping[UUID, Held[T]], epoch: int, asked_at: datetime) -> Merged[T]:
    """What turns `held` into the snapshot, asked for at `asked_at` in `epoch`, and what came after it."""
    put: list[T] = []
    kept = 0
    for item in snapshot:
        mine = held.get(item.id)
        if mine is not None and mine.epoch >= epoch and _newer(mine.told, item, asked_at):
            kept += 1
        elif mine is None or mine.told.value != item:
            put.append(item)
    listed = {item.id for item in snapshot}
    drop = []
    for key in sorted(held.keys() - listed):
        if held[key].epoch >= epoch:
            kept += 1
        else:
            drop.append(key)
    return Merged(put, drop, kept)


def _newer(mine: Told[T], item: T, asked_at: datetime) -> bool:
    if mine.value == item:
        return False
    return judge(Told(item, asked_at, by_message=False), mine).effect is Effect.APPLIED
