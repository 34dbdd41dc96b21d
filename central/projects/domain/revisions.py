"""What Beto tells, held against what is already viewed (P13): order is by revision; arrival means nothing.

1. A higher revision applies, a lower one changes nothing, an equal one is the same thing told again.
2. A Project's authority changes several times under one revision of the Project, so its order is the
   revision, then the management generation, then the time Beto gave the message.
3. A snapshot carries no such time. An authority told within `SKEW` of the moment its snapshot was asked
   for cannot be ordered against it: the one that allows less stands until the checkpoints are compared again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, TypeVar
from uuid import UUID

from central.projects.domain.authority import Authority, AuthorityState
from central.projects.domain.party import Party
from central.projects.domain.project import Project

Viewed = Project | Party | Authority
"""What the three scopes hold; each has an `id` and a `revision`."""

T = TypeVar("T", bound=Viewed)

SKEW: Final = timedelta(seconds=5)
_CAUTION: Final = {AuthorityState.READY: 0, AuthorityState.PENDING: 1, AuthorityState.CLOSED: 2}


@dataclass(frozen=True, slots=True)
class Told(Generic[T]):
    """One item and when it was told: by a message at `at` (Beto's time), or by a snapshot asked for at
    `at`.
    """

    value: T
    at: datetime
    by_message: bool


class Effect(StrEnum):
    """What became of one item."""

    APPLIED = "applied"
    OLDER = "older"
    SAME = "same"
    CONFLICT = "conflict"
    """Equal order with other content: one of the two was never Beto's."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`gap`: revisions between the viewed one and this one were not seen. They may still come, and then are
    older; what they said of leaving and returning is lost to the generations.
    """

    effect: Effect
    gap: bool = False


def judge(viewed: Told[T] | None, told: Told[T]) -> Judgement:
    """What `told` does to `viewed`, which is None if its id was never told before."""
    counted = not isinstance(told.value, Authority)
    if viewed is None:
        return Judgement(Effect.APPLIED, gap=counted and told.value.revision > 1)
    new, old = _order(told.value), _order(viewed.value)
    if new < old:
        return Judgement(Effect.OLDER)
    if new > old:
        return Judgement(Effect.APPLIED, gap=counted and told.value.revision > viewed.value.revision + 1)
    if isinstance(told.value, Authority) and isinstance(viewed.value, Authority):
        return Judgement(_by_time(Told(viewed.value, viewed.at, viewed.by_message), told.value, told.at))
    return Judgement(Effect.SAME if told.value == viewed.value else Effect.CONFLICT)


@dataclass(frozen=True, slots=True)
class Followed(Generic[T]):
    """What became of several messages: a judgement each, None for one that was applied before; and the steps
    the view takes, in order.
    """

    judgements: Sequence[Judgement | None]
    steps: Sequence[Told[T]]


def follow(
    viewed: Mapping[UUID, Told[T]], fresh: Collection[UUID], messages: Sequence[tuple[UUID, Told[T]]]
) -> Followed[T]:
    """Judges messages one after the other; those not in `fresh`, and the second of two, were applied
    before.
    """
    now, left = dict(viewed), set(fresh)
    judgements: list[Judgement | None] = []
    steps = []
    for message_id, told in messages:
        if message_id not in left:
            judgements.append(None)
            continue
        left.discard(message_id)
        judgement = judge(now.get(told.value.id), told)
        judgements.append(judgement)
        if judgement.effect is Effect.APPLIED:
            now[told.value.id] = told
            steps.append(told)
    return Followed(judgements, steps)


def _order(value: Viewed) -> tuple[int, int]:
    return value.revision, value.management_generation if isinstance(value, Authority) else 0


def _by_time(viewed: Told[Authority], told: Authority, at: datetime) -> Effect:
    """Rules 2 and 3 for two authorities of one revision and management generation."""
    skew = timedelta() if viewed.by_message else SKEW
    if at > viewed.at + skew:
        return Effect.APPLIED
    if told == viewed.value:
        return Effect.SAME
    if at < viewed.at - skew:
        return Effect.OLDER
    if viewed.by_message:
        return Effect.CONFLICT
    return Effect.APPLIED if _allows_less(told, viewed.value) else Effect.OLDER


def _allows_less(one: Authority, other: Authority) -> bool:
    if one.state is not other.state:
        return _CAUTION[one.state] > _CAUTION[other.state]
    return one.expires_at is not None and other.expires_at is not None and one.expires_at < other.expires_at
